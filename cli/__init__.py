"""The command line: its commands, what they show, what they change, and a run at a terminal."""
