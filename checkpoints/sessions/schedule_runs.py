"""The times of schedules that are taken: each by one worker, and only when its last run has ended."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from planwright.checkpoints.database import Database


class ScheduleRuns:
    """The table of times at which schedules were due."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, name: str, tenant: str, due: datetime, *, kept_before: bool) -> bool:
        """Take a time for this worker; False where another has it, or where the last run has not ended.

        With `kept_before` it is taken only where an earlier time of the schedule was.
        """

        def job(connection: sqlite3.Connection) -> bool:
            query = "SELECT max(due) FROM schedule_runs WHERE name = ?"
            newest = connection.execute(query, (name,)).fetchone()[0]
            if newest >= due.isoformat() if newest else kept_before:
                return False
            query = (
                "SELECT 1 FROM sessions s JOIN runs r USING (run_id) WHERE s.schedule = ?"
                " AND r.ended_at IS NULL"
            )
            open_ = connection.execute(query, (name,)).fetchone()
            connection.execute(
                "INSERT INTO schedule_runs (name, tenant, due) VALUES (?,?,?)",
                (name, tenant, due.isoformat()),
            )
            return open_ is None

        return await self._database.run("schedule", job, synced=True)

    async def note(self, name: str, due: datetime, thread_id: str) -> None:
        """Write down which run a time brought: the newest of a thread."""

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE schedule_runs SET run_id = (SELECT run_id FROM runs WHERE thread_id = ?"
                " ORDER BY rowid DESC LIMIT 1) WHERE name = ? AND due = ?",
                (thread_id, name, due.isoformat()),
            )

        await self._database.run("schedule", job)
