"""Nodes of the agentic loop: a model, its tools, and the gates of its calls."""
