"""How long runs were worked on. Waiting for a person, and lying dead, does not count.

Every invocation holds its run under a token of its own and keeps its own seconds.
"""

from __future__ import annotations

import sqlite3

from planwright.domain.lease import Lease
from planwright.store.database import Database
from planwright.store.fencing import ride


class WorkTimes:
    """The table of seconds, one row for each invocation of a run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keep(self, lease: Lease, seconds: float) -> None:
        """Queue how long an invocation has lasted so far; whatever is queued later is committed with it."""

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO work_times (run_id, tenant, lease_token, seconds) VALUES (?,?,?,?)"
                " ON CONFLICT (run_id, lease_token) DO UPDATE SET"
                " seconds = max(work_times.seconds, excluded.seconds)",
                (lease.run_id, lease.tenant, lease.token, seconds),
            )

        ride(self._database, "work", lease, job)

    async def of(self, run_id: str) -> float:
        """Sum up the seconds of a run."""

        def job(connection: sqlite3.Connection) -> float:
            query = "SELECT coalesce(sum(seconds), 0) FROM work_times WHERE run_id = ?"
            return float(connection.execute(query, (run_id,)).fetchone()[0])

        return await self._database.read(job)
