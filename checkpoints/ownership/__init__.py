"""Who works on a run, and what time it is for all who do: owners, leases, fencing, clocks."""
