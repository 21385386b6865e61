"""The times of schedules that are taken: each by one worker, and only when its last run has ended.

A time is taken in the transaction that queues its run, so no time is taken whose run is not queued. With it
stands at which second, as the store counts, it was taken: one that was taken before it was due, as is known
now, was taken by a clock that was wrong, and does not count.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from planwright.domain.errors import RunError
from planwright.store.database import Database
from planwright.store.store_time import StoreTime
from planwright.store.time_marks import TimeMark

EARLY_S = 60.0
"""How much earlier than due a time may be taken, in seconds, and count: clocks are set right a little."""
_TAKE = "INSERT OR REPLACE INTO schedule_runs (name, tenant, due, run_id, taken_s) VALUES (?,?,?,?,?)"


@dataclass(frozen=True)
class ScheduledTime:
    """One time of a schedule."""

    name: str
    """Name of the schedule."""
    due: datetime
    """When it is due, in UTC."""


class ScheduleRuns:
    """The table of times at which schedules were due."""

    def __init__(self, database: Database, time: StoreTime) -> None:
        self._database = database
        self._time = time

    async def is_free(self, time: ScheduledTime, tenant: str, *, kept_before: bool) -> bool:
        """Say whether the run of a time is to be queued; False where that was done, or is left out.

        A time at which the last run has not ended is left out. With `kept_before` it is free only where an
        earlier time of the schedule was taken.
        """
        mark = await self._time.look()

        def job(connection: sqlite3.Connection) -> bool:
            newest = _newest(connection, time, mark)
            if newest >= time.due.isoformat() if newest else kept_before:
                return False
            query = (
                "SELECT 1 FROM runs r CROSS JOIN sessions s WHERE s.run_id = r.run_id AND s.schedule = ?"
                " AND r.ended_at IS NULL"
            )
            open_ = connection.execute(query, (time.name,)).fetchone()
            if open_ is not None:
                _take(connection, time, tenant, None, mark)
            return open_ is None

        return await self._database.run("schedule", job, synced=True)

    async def leave_out(self, time: ScheduledTime, tenant: str) -> None:
        """Write down that a time is left out; one that another worker has taken stays as it is."""
        mark = await self._time.look()

        def job(connection: sqlite3.Connection) -> None:
            if (_newest(connection, time, mark) or "") < time.due.isoformat():
                _take(connection, time, tenant, None, mark)

        await self._database.run("schedule", job, synced=True)


def take_time(
    connection: sqlite3.Connection, time: ScheduledTime, tenant: str, run_id: str, mark: TimeMark
) -> None:
    """Take a time for a run that is queued in the same transaction. Raises RunError where another has it."""
    due, newest = time.due.isoformat(), _newest(connection, time, mark)
    if newest and newest >= due:
        raise RunError(f"another worker has queued {time.name} of {due}", "nothing: it is done once")
    _take(connection, time, tenant, run_id, mark)


def _take(
    connection: sqlite3.Connection, time: ScheduledTime, tenant: str, run_id: str | None, mark: TimeMark
) -> None:
    connection.execute(_TAKE, (time.name, tenant, time.due.isoformat(), run_id, mark.counted_s))


def _newest(connection: sqlite3.Connection, time: ScheduledTime, mark: TimeMark) -> str | None:
    """Read the newest time of a schedule that was taken when it was due, or later."""
    query = """SELECT due, taken_s FROM schedule_runs WHERE name = ? AND due <= ?
        ORDER BY due DESC LIMIT 100"""
    soon = (mark.now + timedelta(seconds=EARLY_S)).isoformat()
    for due, taken_s in connection.execute(query, (time.name, soon)):
        due_s = mark.counted_at(datetime.fromisoformat(due))
        if taken_s + EARLY_S >= due_s if taken_s is not None else due_s <= mark.counted_s:
            return str(due)
    return None
