"""What a request to LangGraph's server passes first: who asks, from where, about which threads."""
