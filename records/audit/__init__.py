"""The audit chain: what was decided, done and recorded, each entry with the hash of the one before."""
