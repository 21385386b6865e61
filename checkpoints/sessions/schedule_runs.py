"""The times of schedules that are taken: each by one worker, and only when its last run has ended.

A time is taken in the transaction that queues its run, so no time is taken whose run is not queued.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from planwright.checkpoints.database import Database
from planwright.domain.errors import RunError

BELIEVED_AHEAD = timedelta(days=7)
"""How far ahead of a time that is due another may have been taken; one further ahead is no time of ours."""
_TAKE = "INSERT INTO schedule_runs (name, tenant, due, run_id) VALUES (?,?,?,?)"


@dataclass(frozen=True)
class ScheduledTime:
    """One time of a schedule."""

    name: str
    """Name of the schedule."""
    due: datetime
    """When it is due, in UTC."""


class ScheduleRuns:
    """The table of times at which schedules were due."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def is_free(self, time: ScheduledTime, tenant: str, *, kept_before: bool) -> bool:
        """Say whether the run of a time is to be queued; False where that was done, or is left out.

        A time at which the last run has not ended is left out. With `kept_before` it is free only where an
        earlier time of the schedule was taken.
        """

        def job(connection: sqlite3.Connection) -> bool:
            newest = _newest(connection, time)
            if newest >= time.due.isoformat() if newest else kept_before:
                return False
            query = (
                "SELECT 1 FROM sessions s JOIN runs r USING (run_id) WHERE s.schedule = ?"
                " AND r.ended_at IS NULL"
            )
            open_ = connection.execute(query, (time.name,)).fetchone()
            if open_ is not None:
                connection.execute(_TAKE, (time.name, tenant, time.due.isoformat(), None))
            return open_ is None

        return await self._database.run("schedule", job, synced=True)

    async def leave_out(self, time: ScheduledTime, tenant: str) -> None:
        """Write down that a time is left out; one that another worker has taken stays as it is."""
        values = (time.name, tenant, time.due.isoformat(), None)
        query = _TAKE.replace("INSERT", "INSERT OR IGNORE", 1)
        await self._database.run("schedule", lambda c: c.execute(query, values).rowcount, synced=True)


def take_time(connection: sqlite3.Connection, time: ScheduledTime, tenant: str, run_id: str) -> None:
    """Take a time for a run that is queued in the same transaction. Raises RunError where another has it."""
    due, newest = time.due.isoformat(), _newest(connection, time)
    if newest and newest >= due:
        raise RunError(f"another worker has queued {time.name} of {due}", "nothing: it is done once")
    connection.execute(_TAKE, (time.name, tenant, due, run_id))


def _newest(connection: sqlite3.Connection, time: ScheduledTime) -> str | None:
    """Read the newest time of a schedule that was taken; one far ahead was taken by a wrong clock."""
    query = "SELECT max(due) FROM schedule_runs WHERE name = ? AND due < ?"
    believed = (time.due + BELIEVED_AHEAD).isoformat()
    newest: str | None = connection.execute(query, (time.name, believed)).fetchone()[0]
    return newest
