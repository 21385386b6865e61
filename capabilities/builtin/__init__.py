"""The capabilities every workspace has."""
