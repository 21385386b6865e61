"""Runs: what was asked, by whom it is being worked on, and how it ended.

The run row is the truth about whether a run has ended; LangGraph's `next == ()` is not.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.domain.errors import RunError
from planwright.domain.hashing import sha256
from planwright.domain.lease import Lease
from planwright.domain.results import TERMINAL, RunStatus, check_step
from planwright.records.audit.sealing import seal
from planwright.records.consent.gates import OPEN_GATES, close_gates
from planwright.records.effects.doubts import leave_in_doubt
from planwright.records.thread_words import thread_words
from planwright.store.database import Database
from planwright.store.engines.engine import ask_ahead
from planwright.store.fencing import held, of_run, ride
from planwright.store.store_errors import check_storable


class Run(BaseModel):
    """One request through the graph. `paused_for` says what it waits for that is no decision."""

    model_config = ConfigDict(frozen=True)
    run_id: str
    """Id of the run, made by the door."""
    thread_id: str
    """Id of the thread that the run is on."""
    tenant: str
    """Whose run it is."""
    status: RunStatus
    """How it stands or ended."""
    request: str
    """Newest message of the user, as text."""
    messages: list[dict[str, JsonValue]]
    """Messages that the run began with, as plain data."""
    context: dict[str, JsonValue]
    """Options that came with the request, as plain data."""
    started_at: str
    """When it was entered, in ISO 8601."""
    ended_at: str | None = None
    """When it ended, in ISO 8601; None while it has not."""
    answer: str | None = None
    """Words that it ends with; None while they are not there."""
    cancelled_by: str | None = None
    """Who asked for its end; None while nobody has."""
    owner: str | None = None
    """Process that holds or last held it, as `Owner` spells it; None before the first."""
    lease_token: int = 0
    """Fencing token of the newest lease; it only rises on a thread."""
    lease_until: float = 0
    """When the lease ends, in seconds of the machine's monotonic clock; 0 when nobody holds it."""
    paused_for: str | None = None
    """What a paused run waits for, in words; None for one that is not paused."""
    paused_why: str | None = None
    """What its provider failed with, for one that waits for it; None for any other."""
    ends_as: RunStatus | None = None
    """How it is to end where its end was asked for; None for `cancelled`, and while nobody has asked."""
    pause_by: str | None = None
    """Who asked it to pause; None while nobody has, and once it is paused."""
    extended: str | None = None
    """What it was given beyond its limits, by unit, as JSON; None for nothing."""

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen in this run; one that a limit put down goes on with more of it."""
        return self.status in TERMINAL and self.paused_for is None


@dataclass(frozen=True)
class Requests:
    """What others ask of a run while a process works on it."""

    cancelled_by: str = ""
    """Who asked for its end; "" while nobody has."""
    ends_as: RunStatus = "cancelled"
    """How it is to end then."""
    pause_by: str = ""
    """Who asked it to pause; "" while nobody has."""
    extended: str | None = None
    """What it was given beyond its limits, by unit, as JSON; None for nothing."""


FAMILY = """family(thread_id) AS (
    SELECT thread_id FROM runs WHERE thread_id = :thread UNION
    SELECT source.thread_id FROM family JOIN runs made ON made.thread_id = family.thread_id
    JOIN forks ON forks.run_id = made.run_id JOIN runs source ON source.run_id = forks.source_run)"""
"""The table of a thread, those that its forks came from, those that theirs came from, and so on."""

_STATUS = "SELECT status, ended_at FROM runs WHERE run_id=?"
_BEGUN = "SELECT 1 FROM effects WHERE run_id = ? AND status = 'intent'"
# Holds of all rows but those of one message that is a text: those need not be read.
_MORE_THAN_A_TEXT = """messages LIKE '%}, {%' OR messages LIKE '%"content": [%'"""


class Family(NamedTuple):
    """The runs of a thread and of those that its forks came from."""

    runs: frozenset[str]
    """Ids of these runs."""
    brought: list[dict[str, JsonValue]]
    """The messages that they began with, as plain data, but for those that began with one text alone."""


class Runs:
    """The tables of runs and threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def latest(self, thread_id: str) -> Run | None:
        """Find the newest run of a thread."""
        return await self._first("thread_id = :id", thread_id)

    async def tenants(self, thread_id: str) -> set[str]:
        """Name the tenants with runs on a thread or, where it is of a user's graph, on a node of it."""
        query = "SELECT DISTINCT tenant FROM runs WHERE thread_id = ? OR (thread_id > ? AND thread_id < ?)"
        which = (thread_id, f"{thread_id}:", f"{thread_id};")  # `THREAD:NODE`; ";" comes next after ":"

        def job(connection: sqlite3.Connection) -> set[str]:
            return {row[0] for row in connection.execute(query, which)}

        return await self._database.read(job, behind=("plan", "end"))

    async def read(self, run_id: str) -> Run | None:
        """Read one run."""
        return await self._first("run_id = :id", run_id)

    async def named(self, which: str) -> Run | None:
        """Find a run by its id, by that of a plan of it, or as the newest of a thread."""
        by_plan = "SELECT run_id FROM plans WHERE kind = 'plan' AND json_extract(plan, '$.plan_id') = :id"
        among = f" OR run_id IN ({by_plan})" if which.startswith("plan_") else ""
        return await self._first(f"run_id = :id OR thread_id = :id{among}", which)

    async def _first(self, where: str, id_: str) -> Run | None:
        """Find the newest run that a condition on `:id` holds for."""
        query = f"SELECT * FROM runs WHERE rowid = (SELECT max(rowid) FROM runs WHERE {where})"

        def job(connection: sqlite3.Connection) -> Run | None:
            row = connection.execute(query, {"id": id_}).fetchone()
            return None if row is None else run_of(row)

        return await self._database.read(job, behind=("plan", "answer", "end"))

    async def set_status(self, lease: Lease, status: RunStatus, reason: str = "", why: str = "") -> None:
        """Bring a run that has not ended to another state, as `move` does."""
        await self._database.run(
            "status", of_run(lease, lambda c: move(c, lease.run_id, status, reason, why))
        )

    def tell(self, lease: Lease, answer: str) -> None:
        """Write down the answer of a run that has not ended; from then on it stays."""
        query, row = "UPDATE runs SET answer=coalesce(answer, ?) WHERE run_id=?", (answer, lease.run_id)
        ride(self._database, "answer", lease, lambda c: c.execute(query, row))

    def end(self, lease: Lease, status: RunStatus, answer: str, at: datetime) -> None:
        """Write down how a run ended, once; a gate that is still open closes, what was begun is in doubt.

        It rides with the last checkpoint of the run, which has the answer on its thread.
        """

        def job(connection: sqlite3.Connection) -> None:
            ask_ahead(connection, *((query, (lease.run_id,)) for query in (_BEGUN, _STATUS, OPEN_GATES)))
            if connection.execute(_BEGUN, (lease.run_id,)).fetchone():
                leave_in_doubt(connection, lease.run_id, at)
            if move(connection, lease.run_id, status):
                query = "UPDATE runs SET answer=coalesce(answer, ?), ended_at=? WHERE run_id=?"
                connection.execute(query, (answer, at.isoformat(), lease.run_id))
            connection.execute("DELETE FROM usage WHERE run_id=? AND settled=0", (lease.run_id,))
            close_gates(connection, lease.run_id, at, "the end of the run")
            seal(connection, lease.run_id, at)

        ride(self._database, "end", lease, job, synced=True)

    async def cancel(self, run_id: str, by: str, at: datetime, ends_as: RunStatus = "cancelled") -> None:
        """Ask for the end of a run, and close its gates; whoever works on it sees that and stops.

        One that a limit has put down ends as `budget_exceeded`. Raises RunError when it has ended.
        """

        def job(connection: sqlite3.Connection) -> None:
            query = """UPDATE runs SET cancelled_by=?, ends_as=CASE status WHEN 'budget_exceeded' THEN status
                ELSE ? END WHERE run_id=? AND ended_at IS NULL"""
            if not connection.execute(query, (by, ends_as, run_id)).rowcount:
                raise RunError(f"run {run_id} has ended", f"see how: planwright show {run_id}")
            close_gates(connection, run_id, at, by)

        await self._database.run("cancel", job, synced=True)

    async def requests(self, lease: Lease) -> Requests:
        """Read what others ask of a run that is being worked on. Raises LeaseLost where it is another's."""
        query = "SELECT cancelled_by, ends_as, pause_by, extended FROM runs WHERE run_id = ?"

        def job(connection: sqlite3.Connection) -> Requests:
            row = connection.execute(query, (lease.run_id,)).fetchone() or (None,) * 4
            return Requests(row[0] or "", row[1] or "cancelled", row[2] or "", row[3])

        return await self._database.read(held(lease, job), behind=())

    def set_title(self, lease: Lease, title: str) -> None:
        """Name a thread, once; the hash beside its title shows where that was changed."""
        row = (lease.thread_id, lease.tenant, title, sha256(title))
        columns = "thread_id, tenant, title, title_hash"
        query = f"INSERT INTO threads ({columns}) VALUES (?,?,?,?) ON CONFLICT DO NOTHING"
        ride(self._database, "title", lease, lambda c: c.execute(query, row))

    async def has_title(self, thread_id: str) -> bool:
        """Say whether a thread has its name already."""

        def job(connection: sqlite3.Connection) -> bool:
            query = "SELECT 1 FROM threads WHERE thread_id = ?"
            return connection.execute(query, (thread_id,)).fetchone() is not None

        return await self._database.read(job, behind=("title",))

    async def family(self, thread_id: str) -> Family:
        """Read which runs led to what a thread holds, and the messages that they brought with them."""
        query = f"""WITH RECURSIVE {FAMILY}
            SELECT run_id, CASE WHEN {_MORE_THAN_A_TEXT} THEN messages END
            FROM runs WHERE thread_id IN (SELECT thread_id FROM family)"""

        def job(connection: sqlite3.Connection) -> list[tuple[str, str | None]]:
            return [(row[0], row[1]) for row in connection.execute(query, {"thread": thread_id})]

        rows = await self._database.read(job, behind=())
        brought = [message for _, messages in rows if messages for message in json.loads(messages)]
        return Family(frozenset(run_id for run_id, _ in rows), brought)

    async def words_of(self, thread_id: str) -> str:
        """Join what the user wrote on a thread, as `thread_words` lists it."""
        texts = await self._database.read(lambda connection: thread_words(connection, thread_id), behind=())
        return "\n\n".join(texts)


def move(
    connection: sqlite3.Connection, run_id: str, status: RunStatus, reason: str = "", why: str = ""
) -> bool:
    """Bring a run to another state, and say whether it was open: one that has ended stays as it is.

    Who goes on is asked to pause no more. `reason` is what a paused one waits for, and `why` says more of it.
    Raises RunError.
    """
    row = connection.execute(_STATUS, (run_id,)).fetchone()
    if row is None or row["ended_at"] is not None:
        return False
    check_step(run_id, row["status"], status)
    query = "UPDATE runs SET status=?, paused_for=?, paused_why=?, pause_by=NULL WHERE run_id=?"
    connection.execute(query, (status, reason or None, why or None, run_id))
    return True


def pause(connection: sqlite3.Connection, run_id: str, reason: str) -> None:
    """Pause a run that was being worked on; one that waits for a person, or has ended, stays as it is."""
    row = connection.execute("SELECT status FROM runs WHERE run_id=?", (run_id,)).fetchone()
    if row is not None and row["status"] in ("running", "queued"):
        move(connection, run_id, "paused", reason)


def begin_run(connection: sqlite3.Connection, run: Run) -> None:
    """Write a new run down; its fencing token goes on where that of the run before it ended.

    Raises RunError while another run of its thread is open, SetupError for names no store can hold.
    """
    if connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run.run_id,)).fetchone():
        return
    check_storable("the thread id", run.thread_id)
    check_storable("the tenant", run.tenant)
    query = "SELECT run_id FROM runs WHERE thread_id = ? AND ended_at IS NULL"
    if other := connection.execute(query, (run.thread_id,)).fetchone():
        cause = f"run {other[0]} on thread {run.thread_id} has not ended"
        raise RunError(cause, f"finish it first: planwright resume {run.thread_id}")
    connection.execute(
        "INSERT INTO runs (run_id, thread_id, tenant, status, request, messages, context, started_at,"
        " lease_token) SELECT ?,?,?,?,?,?,?,?, coalesce(max(lease_token), 0) FROM runs WHERE thread_id = ?",
        (run.run_id, run.thread_id, run.tenant, run.status, run.request)
        + (json.dumps(run.messages), json.dumps(run.context), run.started_at, run.thread_id),
    )


def new_run_id() -> str:
    """Make the id of a run."""
    return f"run_{uuid.uuid4().hex[:16]}"


def run_of(row: sqlite3.Row) -> Run:
    """Read the row of a run."""
    return Run.model_validate(
        {**dict(row), "messages": json.loads(row["messages"]), "context": json.loads(row["context"])}
    )
