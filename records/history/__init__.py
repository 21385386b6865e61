"""What is read to be shown: pages of runs, effects, sessions and memories, events, usage. Writes nothing."""
