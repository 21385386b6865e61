"""Runs that are interrupted: their row says `running`, and no process works on them any more."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

STATUS = """CASE WHEN r.status = 'running' AND instr(:interrupted, r.run_id) > 0
    THEN 'interrupted' ELSE r.status END"""
"""The status of a run `r` as it is shown; `:interrupted` holds ids that `interrupted_of` has found."""
_RUNNING = """SELECT run_id, lease_token, owner, lease_until FROM runs
    WHERE status = 'running' AND ended_at IS NULL"""


@dataclass(frozen=True)
class RunLease:
    """Who holds a run, as its row says."""

    run_id: str
    """Id of the run."""
    lease_token: int
    """How often it has been taken."""
    owner: str | None
    """Process that works on it."""
    lease_until: float
    """When the lease ends, in seconds of the machine's monotonic clock; 0 when no process holds it."""


def running_leases(connection: sqlite3.Connection) -> list[RunLease]:
    """List who holds the runs that are said to be running."""
    return [RunLease(*row) for row in connection.execute(_RUNNING)]


def interrupted_of(leases: list[RunLease], is_leased: Callable[[RunLease], bool]) -> str:
    """Name the interrupted ones of running runs, with a space between the ids; it looks at processes."""
    return " ".join(lease.run_id for lease in leases if not is_leased(lease))


def status_of(status: str, *, held: bool) -> str:
    """Name the status of one run as it is shown; `held` says whether a process works on it."""
    return "interrupted" if status == "running" and not held else status
