"""Messages to people: what they say, how they get there, and who sends them when."""
