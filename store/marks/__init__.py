"""How far a store has come, written down outside of it: what it lacks if it ever goes back."""
