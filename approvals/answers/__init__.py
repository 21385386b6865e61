"""Every form in which an answer to a gate may come, bound to the gate it is meant for."""
