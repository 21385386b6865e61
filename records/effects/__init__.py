"""What was done: the ledger, doubts, undos, refusals."""
