"""`planwright.toml` as typed settings; the only reader of the environment."""
