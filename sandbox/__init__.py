"""A child process that reads what others wrote, and ends when that takes too much time or memory."""
