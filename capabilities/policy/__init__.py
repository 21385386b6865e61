"""What may be called without a question, with one, or not at all."""
