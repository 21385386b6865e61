"""A demo workspace to try the agent on: made-up mail, notes and tickets, and a team-channel webhook."""
