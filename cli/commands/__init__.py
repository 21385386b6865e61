"""The commands, by group. Each loads what it needs when it is called."""
