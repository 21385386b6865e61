"""What happened: runs, plans, consent, effects, budgets, the audit chain, the queue; and its history."""
