"""Runs: what was asked, by whom it is being worked on, and how it ended.

The run row is the truth about whether a run has ended; LangGraph's `next == ()` is not.
A run is worked on by one process at a time: a lease with a fencing token, which the ledger
checks at every intent.
"""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from datetime import datetime

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.checkpoints.database import Database
from planwright.checkpoints.gates import close_gates
from planwright.checkpoints.processes import alive, started_at
from planwright.graph.errors import RunError
from planwright.graph.results import TERMINAL, RunStatus


class Run(BaseModel):
    """One request through the graph."""

    model_config = ConfigDict(frozen=True)
    run_id: str
    thread_id: str
    tenant: str
    status: RunStatus
    request: str
    messages: list[dict[str, JsonValue]]
    context: dict[str, JsonValue]
    started_at: str
    ended_at: str | None = None
    answer: str | None = None
    cancelled_by: str | None = None
    owner: str | None = None
    lease_token: int = 0
    lease_until: float = 0

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen in this run."""
        return self.status in TERMINAL


class Runs:
    """The tables of runs and plans."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owner = f"{os.getpid()}:{started_at(os.getpid())}:{uuid.uuid4().hex[:8]}"

    async def latest(self, thread_id: str) -> Run | None:
        """Find the newest run of a thread."""

        def job(connection: sqlite3.Connection) -> sqlite3.Row | None:
            query = "SELECT * FROM runs WHERE thread_id = ? ORDER BY started_at DESC, rowid DESC LIMIT 1"
            row: sqlite3.Row | None = connection.execute(query, (thread_id,)).fetchone()
            return row

        row = await self._database.run("read", job)
        return None if row is None else run_of(row)

    async def lease(self, run: Run, seconds: float, now: float) -> int:
        """Take a run for this process and return the fencing token; a new run is written down first.

        Raises RunError while another live process holds it, or another run of its thread is open.
        """

        def job(connection: sqlite3.Connection) -> int:
            begin_run(connection, run)
            return _take_lease(connection, run.run_id, self._owner, now, now + seconds)

        return await self._database.run("lease", job)

    async def renew(self, run_id: str, token: int, until: float) -> None:
        """Hold on to a leased run."""

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE runs SET lease_until=? WHERE run_id=? AND lease_token=?", (until, run_id, token)
            )

        await self._database.run("lease", job)

    async def release(self, run_id: str, token: int) -> None:
        """Let go of a leased run."""
        await self.renew(run_id, token, 0)

    async def set_status(self, run_id: str, status: RunStatus) -> None:
        """Say that a run waits for a person, or runs again; an ended run stays ended."""

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE runs SET status=? WHERE run_id=? AND ended_at IS NULL", (status, run_id)
            )

        await self._database.run("status", job)

    async def end(self, run_id: str, status: RunStatus, answer: str, at: datetime) -> None:
        """Write down how a run ended, once; a gate that is still open closes with it."""

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE runs SET status=?, answer=?, ended_at=? WHERE run_id=? AND ended_at IS NULL",
                (status, answer, at.isoformat(), run_id),
            )
            close_gates(connection, run_id, at, "the end of the run")

        await self._database.run("end", job)

    async def cancel(self, run_id: str, by: str, at: datetime) -> None:
        """Ask for the end of a run, and close its gates; whoever works on it sees that and stops.

        Raises RunError when it has ended.
        """

        def job(connection: sqlite3.Connection) -> None:
            asked = connection.execute(
                "UPDATE runs SET cancelled_by=? WHERE run_id=? AND ended_at IS NULL", (by, run_id)
            )
            if not asked.rowcount:
                raise RunError(f"run {run_id} has ended", f"see how: planwright show {run_id}")
            close_gates(connection, run_id, at, by)

        await self._database.run("cancel", job)

    async def cancelled_by(self, run_id: str) -> str:
        """Name who asked for the end of a run; empty when nobody did."""

        def job(connection: sqlite3.Connection) -> str:
            row = connection.execute("SELECT cancelled_by FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            return (row and row[0]) or ""

        return await self._database.run("read", job)

    def worked_on(self, run: Run, now: float) -> bool:
        """Say whether a live process holds a run."""
        return run.lease_until > now and run.owner is not None and alive(run.owner)

    async def set_title(self, thread_id: str, title: str) -> None:
        """Name a thread, once."""

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR IGNORE INTO threads (thread_id, tenant, title)"
                " SELECT thread_id, tenant, ? FROM runs WHERE thread_id = ? LIMIT 1",
                (title, thread_id),
            )

        await self._database.run("title", job)

    async def words_of(self, thread_id: str) -> str:
        """Join what the user wrote on a thread, requests and answers to questions, the newest first."""

        def job(connection: sqlite3.Connection) -> list[str]:
            query = (
                "SELECT request, started_at FROM runs WHERE thread_id = :thread UNION ALL"
                " SELECT reason, decided_at FROM gates WHERE thread_id = :thread AND status = 'responded'"
                " ORDER BY 2 DESC"
            )
            return [row[0] for row in connection.execute(query, {"thread": thread_id}) if row[0]]

        return "\n\n".join(await self._database.run("read", job))


def begin_run(connection: sqlite3.Connection, run: Run) -> None:
    """Write a new run down. Raises RunError while another run of its thread is open."""
    known = connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run.run_id,)).fetchone()
    if known:
        return
    query = "SELECT run_id FROM runs WHERE thread_id = ? AND ended_at IS NULL"
    other = connection.execute(query, (run.thread_id,)).fetchone()
    if other:
        raise RunError(
            f"run {other[0]} on thread {run.thread_id} has not ended",
            f"finish it first: planwright resume {run.thread_id}",
        )
    connection.execute(
        "INSERT INTO runs (run_id, thread_id, tenant, status, request, messages, context, started_at)"
        " VALUES (?,?,?,?,?,?,?,?)",
        (run.run_id, run.thread_id, run.tenant, run.status, run.request)
        + (json.dumps(run.messages), json.dumps(run.context), run.started_at),
    )


def _take_lease(connection: sqlite3.Connection, run_id: str, owner: str, now: float, until: float) -> int:
    row = connection.execute(
        "SELECT owner, lease_token, lease_until, thread_id FROM runs WHERE run_id=?", (run_id,)
    ).fetchone()
    if row is None:
        raise RunError(f"there is no run {run_id}", "list them: planwright ls")
    if row["lease_until"] > now and alive(row["owner"]):
        raise RunError(
            f"run {run_id} is being worked on by process {row['owner'].split(':')[0]}",
            f"watch it with: planwright events {row['thread_id']}",
        )
    token = int(row["lease_token"]) + 1
    connection.execute(
        "UPDATE runs SET owner=?, lease_token=?, lease_until=? WHERE run_id=?", (owner, token, until, run_id)
    )
    return token


def run_of(row: sqlite3.Row) -> Run:
    """Read the row of a run."""
    return Run.model_validate(
        {**dict(row), "messages": json.loads(row["messages"]), "context": json.loads(row["context"])}
    )
