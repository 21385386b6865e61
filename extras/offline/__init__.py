"""The embedded model: a deterministic planner, not a language model, and it says so."""
