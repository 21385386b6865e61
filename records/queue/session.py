"""A session: a run that a worker takes up, and until when it has to have ended."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from planwright.domain.errors import RunError
from planwright.domain.results import RunStatus

SessionState = Literal[
    "queued",
    "in_progress",
    "awaiting_gate",
    "paused",
    "completed",
    "failed",
    "rejected",
    "cancelled",
    "expired",
]
"""The states of a session, as operators know them: each stands for one status of its run or several."""
_ENDS: dict[RunStatus, SessionState] = {
    "completed": "completed",
    "completed_with_skips": "completed",
    "planned": "completed",
    "needs_input": "completed",
    "rejected": "rejected",
    "cancelled": "cancelled",
    "expired": "expired",
}


class Session(BaseModel):
    """One session, with how its run stands. The queue writes it before anything runs."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    run_id: str
    """Id of its run; a session has one run."""
    thread_id: str
    """Id of the thread that the run is on."""
    tenant: str
    """Whose session it is."""
    status: RunStatus
    """How its run stands or ended."""
    request: str
    """What was asked for, in the user's words."""
    requested_at: datetime
    """When it was queued, in UTC."""
    expires_at: datetime
    """When it expires, whatever it does then, in UTC."""
    ended_at: datetime | None = None
    """When it ended, in UTC; None while it has not."""
    paused_for: str | None = None
    """What it waits for where it is paused, in words."""
    breaks: int = 0
    """How often a worker that was at it has died."""
    schedule: str | None = None
    """Name of the schedule that queued it; None where a person or a program did."""

    @property
    def state(self) -> SessionState:
        """The state as an operator knows it."""
        if self.status == "budget_exceeded" and self.ended_at is None:
            return "paused"
        if self.status == "queued" or self.status == "paused":
            return self.status
        if self.status == "running":
            return "in_progress"
        return "awaiting_gate" if self.status == "waiting" else _ENDS.get(self.status, "failed")


COLUMNS = (
    "r.run_id, r.thread_id, r.tenant, r.status, r.request, r.ended_at, r.paused_for,"
    " s.requested_at, s.expires_at, s.breaks, s.schedule"
)
"""What is read of a session, from `sessions s` and `runs r`."""


def session_of(row: sqlite3.Row) -> Session:
    """Read the row of a session, of the columns above."""
    return Session.model_validate(dict(row))


def open_run(connection: sqlite3.Connection, which: str) -> sqlite3.Row:
    """Read the row of a run, or of the newest of a thread. Raises RunError for none, and for an ended one."""
    query = "SELECT * FROM runs WHERE run_id = :id OR thread_id = :id ORDER BY rowid DESC LIMIT 1"
    row: sqlite3.Row | None = connection.execute(query, {"id": which}).fetchone()
    if row is None:
        raise RunError(f"there is no run or thread {which}", "list them: planwright sessions ls")
    if row["ended_at"] is not None:
        raise RunError(f"run {row['run_id']} has ended", f"see how: planwright show {row['run_id']}")
    return row
