"""A run at a terminal: watched, asked, edited."""
