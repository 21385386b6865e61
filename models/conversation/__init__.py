"""What of a conversation a model is shown, and what is taken from its end."""
