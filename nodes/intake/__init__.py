"""Nodes that take a request in: session, budget, context, routing."""
