"""What things are: plans, results, risk, errors, events, references. Imports nothing of ours."""
