"""The queue: runs that are written down before anything is done, and that any worker may take up.

It is bounded: what is full refuses, so that who sends too much hears of it. A run is taken by its lease
(`records/ownership/leases.py`), so two workers that look at once never both work on it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from planwright.domain.errors import QueueFull
from planwright.records.queue.outside_events import write_event
from planwright.records.queue.schedule_runs import ScheduledTime, take_time
from planwright.records.runs import Run, begin_run, run_of
from planwright.store.database import Database
from planwright.store.store_time import TERM_OF_SESSION, StoreTime, is_late, may_be_late

END_OF_TIME = "the end of its time (sessions.ttl_s)"
"""Who asked for the end of a run whose session is past its time."""
STORAGE = "storage"
"""What a run is paused for whose store failed: it goes on when the store is back, and nobody has to ask."""
PROVIDER = "provider"
"""What a run is paused for whose models do not answer: a worker goes on with it after a while."""
Standing = Literal["in time", "maybe late", "late"]
"""How a session stands to its time; it is maybe late while nobody knows how long the machine was off."""
MOST_FREE = 100
"""Most runs that nobody holds in one list of what may go on: thousands may be ready at once."""
_OPEN = """SELECT r.run_id, r.status, r.paused_for, r.cancelled_by, r.lease_until, s.opened_s, s.closes_s,
    s.expires_at FROM runs r CROSS JOIN sessions s WHERE s.run_id = r.run_id AND r.ended_at IS NULL
    ORDER BY s.rowid"""
_QUEUED = "SELECT * FROM runs WHERE run_id = ?"
_GATES = """SELECT g.run_id, g.closes_s, g.expires_at FROM gates g JOIN sessions s USING (run_id)
    JOIN runs r USING (run_id) WHERE g.status = 'open' AND r.ended_at IS NULL"""


@dataclass(frozen=True)
class Term:
    """How long a session may take, and where it comes from."""

    ttl_s: float
    """Seconds after which it expires, waiting for people included."""
    schedule: ScheduledTime | None = None
    """Time of a schedule that queues it; None where a person or a program does."""


class Queue:
    """The table of sessions, as those see it who queue runs and those who take them up."""

    def __init__(self, database: Database, time: StoreTime) -> None:
        self._database = database
        self._time = time

    async def add(
        self, run: Run, term: Term, own: Iterable[str], versions: Mapping[str, JsonValue], capacity: int
    ) -> None:
        """Write a run down that a worker is to take up; `own` names the parts that it needs of its program.

        Raises QueueFull where as many wait already as may, RunError while another run of its thread is open,
        and for a time of a schedule that another worker has taken.
        """
        at, schedule = datetime.fromisoformat(run.started_at), term.schedule.name if term.schedule else None
        event = {"request": run.request, "versions": dict(versions), "schedule": schedule}
        parts = [(run.run_id, run.tenant, name) for name in own]
        looked = await self._time.look()

        def job(connection: sqlite3.Connection) -> None:
            mark = self._time.since(looked)  # nobody could take it up while it waited to be written
            closes_s = mark.counted_s + term.ttl_s
            refuse_full(connection, capacity)
            if term.schedule is not None:
                take_time(connection, term.schedule, run.tenant, run.run_id, mark)
            begin_run(connection, run)
            connection.execute(
                "INSERT INTO sessions (run_id, thread_id, tenant, requested_at, expires_at, opened_s,"
                " closes_s, schedule) VALUES (?,?,?,?,?,?,?,?)",
                (run.run_id, run.thread_id, run.tenant, run.started_at, mark.moment(closes_s).isoformat())
                + (mark.counted_s, closes_s, schedule),
            )
            connection.executemany(
                "INSERT INTO own_parts (run_id, tenant, name) VALUES (?,?,?) ON CONFLICT DO NOTHING", parts
            )
            write_event(connection, run.run_id, "task_queued", event, at)

        await self._database.run("queue", job, synced=True)

    async def runnable(self) -> list[Run]:
        """List runs that somebody may go on with, the oldest first: all that a process holds, 100 others.

        One that waits comes once all its gates are decided or the time of one is up, one that is paused
        where its store failed, and any whose end was asked for. One that nobody holds, and that has expired
        if the machine was off for as long as its clock says, is left until that is known.
        """
        mark = await self._time.look()

        def job(connection: sqlite3.Connection) -> list[Run]:
            gates = connection.execute(_GATES).fetchall()
            asking = {row["run_id"] for row in gates}
            late = {row["run_id"] for row in gates if is_late(row, mark)}
            undecided = asking - late
            ready = (
                row
                for row in connection.execute(_OPEN).fetchall()
                if _may_go_on(row, undecided=row["run_id"] in undecided)
                and (row["lease_until"] or row["cancelled_by"] or not may_be_late(row, mark))
            )
            ids = [row["run_id"] for row in _first_free(ready)]
            rows = [connection.execute(_QUEUED, (run_id,)).fetchone() for run_id in ids]
            return [run_of(row) for row in rows]

        return await self._database.read(job)

    async def expired(self) -> list[Run]:
        """List the open runs of sessions whose time is up, and whose end nobody has asked for."""
        query = """SELECT r.*, s.closes_s, s.expires_at FROM sessions s
            JOIN runs r USING (run_id) WHERE r.ended_at IS NULL AND r.cancelled_by IS NULL"""
        mark = await self._time.look()

        def job(connection: sqlite3.Connection) -> list[Run]:
            rows = connection.execute(query).fetchall()
            return [run_of(row) for row in rows if is_late(row, mark)]

        return await self._database.read(job)

    async def standing(self, run_id: str) -> Standing:
        """Say how a run stands to the time of its session; one of no session is in time for good."""
        mark = await self._time.look()

        def job(connection: sqlite3.Connection) -> Standing:
            row = connection.execute(TERM_OF_SESSION, (run_id,)).fetchone()
            if row is None or not may_be_late(row, mark):
                return "in time"
            return "late" if is_late(row, mark) else "maybe late"

        return await self._database.read(job, behind=())

    async def count_break(self, run: Run) -> int:
        """Count that the worker of a run has died or broke off, once a lease; returns how often by now."""
        query = (
            "UPDATE sessions SET breaks = breaks + 1, broken_token = ? WHERE run_id = ?"
            " AND coalesce(broken_token, -1) < ?"
        )
        values = (run.lease_token, run.run_id, run.lease_token)

        def job(connection: sqlite3.Connection) -> int:
            connection.execute(query, values)
            counted = "SELECT breaks FROM sessions WHERE run_id = ?"
            row = connection.execute(counted, (run.run_id,)).fetchone()
            return int(row[0]) if row else 0

        return await self._database.run("queue", job)


def _first_free(rows: Iterable[sqlite3.Row]) -> Iterator[sqlite3.Row]:
    """Pass on every run that is held, and the first ones that are not."""
    free = 0
    for row in rows:
        free += not row["lease_until"]
        if row["lease_until"] or free <= MOST_FREE:
            yield row


def _may_go_on(row: sqlite3.Row, *, undecided: bool) -> bool:
    """Say whether a worker may take up an open run."""
    if row["cancelled_by"] is not None or row["status"] in ("queued", "running"):
        return True
    if row["status"] in ("paused", "budget_exceeded"):
        return bool(row["paused_for"] in (STORAGE, PROVIDER))
    return not undecided


def refuse_full(connection: sqlite3.Connection, capacity: int) -> None:
    """Raise QueueFull where as many runs are queued as may be."""
    query = "SELECT count(*) FROM runs WHERE status = 'queued' AND ended_at IS NULL"
    queued = connection.execute(query).fetchone()[0]
    if queued >= capacity:
        raise QueueFull(
            f"{queued} runs are queued, and queue.capacity allows {capacity}; nothing was queued",
            "wait for them, or start another worker: planwright worker",
        )
