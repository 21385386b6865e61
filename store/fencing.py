"""Fencing: what a process writes for a run is written under its lease, in one transaction, or not at all.

Where a row could not be written, none is written after it under the same lease: as after a crash.
"""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future
from functools import partial

from planwright.domain.errors import LeaseLost
from planwright.domain.lease import Lease
from planwright.store.database import Database
from planwright.store.engines.engine import require
from planwright.store.queued_job import Beside, Job, T

_HOLDS = "EXISTS (SELECT 1 FROM runs WHERE run_id = ? AND lease_token = ?)"


def held(lease: Lease | None, job: Job[T]) -> Job[T]:
    """Guard a job: it raises LeaseLost, and does nothing, once another process has taken the run.

    What is done outside of any run has no lease.
    """

    def guarded(connection: sqlite3.Connection) -> T:
        if lease is not None:
            lease.check()
            require(connection, _HOLDS, (lease.run_id, lease.token), partial(lost, lease))
        return job(connection)

    return guarded


def of_run(lease: Lease | None, job: Job[T]) -> Job[T]:
    """Guard a job that writes rows of its run alone: jobs of other runs may be under way beside it.

    Who takes a run waits for them. Rows that runs share are written behind `lock_shared_rows`.
    """
    return Beside(held(lease, job)) if lease is not None else job


def ride(database: Database, name: str, lease: Lease, job: Job[T], *, synced: bool = False) -> Future[T]:
    """Queue a write of a run that nobody waits for; where it fails, it is the last one under its lease."""
    return database.submit(name, of_run(lease, job), rides=True, synced=synced, lost=lease.unwritten.append)


def lost(lease: Lease) -> LeaseLost:
    """Say that a run is in other hands."""
    return LeaseLost(
        f"run {lease.run_id} was taken over by another process; this one has stopped and changed nothing",
        f"watch it: planwright events {lease.thread_id}",
    )
