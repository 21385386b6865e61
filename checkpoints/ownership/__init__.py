"""Who works on a run: owners, leases, fencing."""
