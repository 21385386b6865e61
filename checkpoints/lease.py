"""The right of one process to write for one run, and the check of it in every such write."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from planwright.checkpoints.database import Job, T
from planwright.graph.errors import LeaseLost


@dataclass(frozen=True)
class Lease:
    """A run, and the fencing token under which this process works on it.

    The token rises with every process that takes the run, or a later run of its thread; whoever holds an
    older one writes nothing any more (M. Kleppmann, "How to do distributed locking", 2016). `owner` names the
    process, as in `owners.py`.
    """

    tenant: str
    thread_id: str
    run_id: str
    token: int
    owner: str = ""

    def check(self, connection: sqlite3.Connection) -> None:
        """Raise LeaseLost unless this lease is the newest of its run."""
        query = "SELECT lease_token FROM runs WHERE run_id = ?"
        row = connection.execute(query, (self.run_id,)).fetchone()
        if row is None or row[0] != self.token:
            raise self.lost()

    def lost(self) -> LeaseLost:
        """Say that the run is in other hands."""
        return LeaseLost(
            f"run {self.run_id} was taken over by another process; this one has stopped and changed nothing",
            f"watch it: planwright events {self.thread_id}",
        )


def held(lease: Lease | None, job: Job[T]) -> Job[T]:
    """Guard a job: in its own transaction, it is done under this lease or not at all.

    Without a lease, outside of any run, it is simply done.
    """

    def guarded(connection: sqlite3.Connection) -> T:
        if lease is not None:
            lease.check(connection)
        return job(connection)

    return guarded
