"""The way out: which URLs, names and addresses a call may reach, and how it gets there."""
