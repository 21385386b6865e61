"""Fencing: what a process writes for a run is written under its lease, in one transaction, or not at all.

Where a row could not be written, none is written after it under the same lease: as after a crash.
"""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future

from planwright.domain.errors import LeaseLost
from planwright.domain.lease import Lease
from planwright.store.database import Database, Job, T


def held(lease: Lease | None, job: Job[T]) -> Job[T]:
    """Guard a job: it raises LeaseLost, and does nothing, once another process has taken the run.

    What is done outside of any run has no lease.
    """

    def guarded(connection: sqlite3.Connection) -> T:
        if lease is not None:
            lease.check()
            query = "SELECT lease_token FROM runs WHERE run_id = ?"
            row = connection.execute(query, (lease.run_id,)).fetchone()
            if row is None or row[0] != lease.token:
                raise lost(lease)
        return job(connection)

    return guarded


def ride(database: Database, name: str, lease: Lease, job: Job[T], *, synced: bool = False) -> Future[T]:
    """Queue a write of a run that nobody waits for; where it fails, it is the last one under its lease."""
    guarded = held(lease, job)
    return database.submit(name, guarded, rides=True, synced=synced, lost=lease.unwritten.append)


def lost(lease: Lease) -> LeaseLost:
    """Say that a run is in other hands."""
    return LeaseLost(
        f"run {lease.run_id} was taken over by another process; this one has stopped and changed nothing",
        f"watch it: planwright events {lease.thread_id}",
    )
