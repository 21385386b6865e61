"""Who works on a run: leases, cancelling, seconds of work, parts that a program has to bring again."""
