"""What the commands `audit`, `replay` and `diff` show of runs that have ended."""
