"""Who thinks: the router, the providers, the scripted model, and what is read from replies."""
