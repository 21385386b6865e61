"""Who thinks: the router, the providers, the embedded offline planner, the scripted model."""
