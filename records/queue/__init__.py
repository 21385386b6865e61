"""Durable sessions: runs that workers take up, what operators ask of them, and their checkpoints."""
