"""What a folder brings along: its modules, what else runs, sends or opens something, and who trusts it."""
