"""What LangGraph's checkpoints are made of: values by the hash of their bytes, and rows that name them."""
