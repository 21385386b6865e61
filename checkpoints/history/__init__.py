"""What is read to be shown: pages of runs, the events of one, effects, open gates. Writes nothing."""
