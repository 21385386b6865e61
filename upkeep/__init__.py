"""Looking after a store: check, backup, restore, vacuum."""
