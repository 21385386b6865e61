"""LangGraph's checkpoints and nothing else: how values are written, read back, kept and pruned."""
