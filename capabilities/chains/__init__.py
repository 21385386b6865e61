"""Several calls under one name."""
