"""Providers: how they are reached, what they can do and what they cost."""
