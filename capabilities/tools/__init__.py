"""Tools that others wrote, as capabilities: LangChain's, what hints mean, how arguments are checked."""
