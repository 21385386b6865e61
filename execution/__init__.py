"""How one step or one call is carried out, and what its result is."""
