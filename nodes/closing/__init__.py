"""Nodes that end a run: score, escalation, answer, memory, session."""
