"""What operators see of sessions, and ask of them: pause, resume, more time or budget."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from planwright.domain.clock import LONGEST_S
from planwright.domain.errors import RunError, SetupError
from planwright.records.extensions import Unit, add_extension, check_amounts
from planwright.records.ownership.leases import Leases
from planwright.records.queue.outside_events import write_event
from planwright.records.queue.session import COLUMNS, Session, open_run, session_of
from planwright.records.runs import Run, move, run_of
from planwright.store.database import Database
from planwright.store.store_time import (
    TERM_OF_SESSION,
    StoreTime,
    close_gate_at,
    close_session_at,
    closes_of,
)
from planwright.store.time_marks import TimeMark


class Sessions:
    """The table of sessions, as operators see it."""

    def __init__(self, database: Database, leases: Leases, time: StoreTime) -> None:
        self._database = database
        self._leases = leases
        self._time = time

    async def of(self, run_id: str) -> Session | None:
        """Read the session of a run; None for a run that no worker takes up."""
        query = f"SELECT {COLUMNS} FROM sessions s JOIN runs r USING (run_id) WHERE run_id = ?"

        def job(connection: sqlite3.Connection) -> Session | None:
            row = connection.execute(query, (run_id,)).fetchone()
            return None if row is None else session_of(row)

        return await self._database.read(job)

    async def pause(self, which: str, by: str) -> Run:
        """Ask a run to pause, and return it; where nobody works on it, it is paused at once.

        Who works on it pauses it before its next superstep. Raises RunError for a run that is paused, waits
        for a person, or has ended.
        """
        at = (await self._time.look()).now

        def job(connection: sqlite3.Connection) -> sqlite3.Row:
            row = open_run(connection, which)
            if row["status"] in ("paused", "waiting", "budget_exceeded"):
                raise _stands_still(row)
            if self._leases.is_leased(run_of(row)):
                connection.execute("UPDATE runs SET pause_by=? WHERE run_id=?", (by, row["run_id"]))
            else:
                move(connection, row["run_id"], "paused", pause_reason(by))
                write_event(connection, row["run_id"], "session_paused", {"reason": pause_reason(by)}, at)
            return open_run(connection, which)

        return run_of(await self._database.run("pause", job, synced=True))

    async def pause_for(self, run: Run, reason: str) -> None:
        """Pause a run that nobody works on, for a reason in words; any other stays as it is."""
        at = (await self._time.look()).now

        def job(connection: sqlite3.Connection) -> None:
            row = connection.execute("SELECT * FROM runs WHERE run_id = ?", (run.run_id,)).fetchone()
            if row["status"] in ("queued", "running") and not self._leases.is_leased(run_of(row)):
                move(connection, run.run_id, "paused", reason)
                write_event(connection, run.run_id, "session_paused", {"reason": reason}, at)

        await self._database.run("pause", job, synced=True)

    async def resume(self, which: str, by: str) -> Run:
        """Queue a paused session again. Raises RunError for a run that is not paused, or is no session."""
        at = (await self._time.look()).now

        def job(connection: sqlite3.Connection) -> sqlite3.Row:
            row = open_run(connection, which)
            query = "SELECT 1 FROM sessions WHERE run_id = ?"
            if connection.execute(query, (row["run_id"],)).fetchone() is None:
                cause = f"run {row['run_id']} was not begun in the background, and no worker takes it up"
                raise RunError(cause, f"go on with it here: planwright resume {row['thread_id']}")
            if row["status"] not in ("paused", "budget_exceeded"):
                cause = f"run {row['run_id']} is {row['status']}, not paused"
                raise RunError(cause, f"see it: planwright sessions show {row['thread_id']}")
            move(connection, row["run_id"], "queued")
            connection.execute("UPDATE sessions SET breaks = 0 WHERE run_id = ?", (row["run_id"],))
            write_event(connection, row["run_id"], "session_resumed", {"by": by}, at)
            return open_run(connection, which)

        return run_of(await self._database.run("pause", job, synced=True))

    async def extend(self, which: str, amounts: Mapping[Unit, float], by: str) -> Run:
        """Give a run more of what it is limited in; `ttl_s` moves the time at which a session expires.

        Whoever works on it sees it within a second. Raises SetupError for what is no amount of a unit, and
        RunError for a run that has ended, and for more time of a run that is no session.
        """
        more = {str(unit): amount for unit, amount in amounts.items()}
        check_amounts(more)
        mark = await self._time.look()

        def job(connection: sqlite3.Connection) -> sqlite3.Row:
            row = open_run(connection, which)
            add_extension(connection, row["run_id"], more, by, mark.now)
            if seconds := amounts.get("ttl_s"):
                _put_off(connection, row, seconds, mark)
            if not self._leases.is_leased(run_of(row)):
                write_event(
                    connection,
                    row["run_id"],
                    "session_extended",
                    {**more, "by": by},
                    mark.now,
                )
            return open_run(connection, which)

        return run_of(await self._database.run("extend", job, synced=True))


def _stands_still(row: sqlite3.Row) -> RunError:
    """Say of a run that does nothing why that is, and how it goes on."""
    if row["status"] == "waiting":
        cause = f"run {row['run_id']} waits for a decision, and does nothing until then"
        return RunError(cause, "see what it asks: planwright ls --waiting")
    cause = f"run {row['run_id']} is paused already ({row['paused_for']})"
    return RunError(cause, f"go on with it: planwright sessions resume {row['thread_id']}")


def pause_reason(by: str) -> str:
    """Say what a run waits for that somebody paused."""
    return f"paused by {by}"


def _put_off(connection: sqlite3.Connection, row: sqlite3.Row, seconds: float, mark: TimeMark) -> None:
    """Let a session expire later, and with it the gates that were to close when it does."""
    session = connection.execute(TERM_OF_SESSION, (row["run_id"],)).fetchone()
    if session is None:
        cause = f"run {row['run_id']} was not begun in the background, and does not expire"
        raise RunError(cause, "leave the time out")
    before_s = closes_of(session)
    closes_s = before_s + seconds
    if closes_s - mark.counted_s > LONGEST_S:
        cause = (
            f"a session ends within ten years, and this one ends on {mark.moment(before_s):%Y-%m-%d} already"
        )
        raise SetupError(cause, "give it less")
    close_session_at(connection, row["run_id"], closes_s, mark)
    query = "SELECT gate_id, closes_s, expires_at FROM gates WHERE run_id = ? AND status = 'open'"
    for gate in connection.execute(query, (row["run_id"],)).fetchall():
        if closes_of(gate) == before_s:
            close_gate_at(connection, gate["gate_id"], closes_s, mark)
