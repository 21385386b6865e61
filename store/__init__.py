"""The file that all is kept in: its tables and engine, who is in it, what time it is, where it comes from."""
