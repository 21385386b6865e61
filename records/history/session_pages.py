"""Pages of sessions: runs in the background, the newest first."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planwright.records.history.rows import count_of
from planwright.records.queue.session import COLUMNS, Session, session_of

_EVERY = "sessions s JOIN runs r USING (run_id) WHERE 1 = 1"
_OPEN = "runs r CROSS JOIN sessions s WHERE s.run_id = r.run_id AND r.ended_at IS NULL"
_ALONE = "sessions s WHERE 1 = 1"  # each is that of a run
_CONDITIONS = {"tenant": "s.tenant = :tenant", "id": "s.run_id = :id"}
_PAGE = f"""SELECT {COLUMNS}, r.context, r.extended FROM {{rows}}
    ORDER BY s.rowid DESC LIMIT :limit OFFSET :skipped"""
_COUNT = "SELECT count(*) FROM {rows}"


@dataclass(frozen=True)
class SessionFilter:
    """Which sessions are wanted; what is None leaves none out."""

    tenant: str | None = None
    """Tenant that they belong to; None for all."""
    id: str | None = None
    """Run that is the session; None for any."""
    open: bool = False
    """Whether only those are wanted that have not ended."""


@dataclass(frozen=True)
class SessionRow:
    """One session, and what its limits depend on."""

    session: Session
    """The session, with how its run stands."""
    context: Mapping[str, object]
    """Options that its run began with."""
    extended: str | None
    """What it was given beyond its limits, as JSON; None for nothing."""


@dataclass(frozen=True)
class SessionPage:
    """One page of sessions."""

    rows: Sequence[SessionRow]
    """Sessions of the page, the newest first."""
    total: int
    """How many sessions there are on all pages."""


def session_page(
    connection: sqlite3.Connection, wanted: SessionFilter, limit: int, skipped: int
) -> SessionPage:
    """Read a page of at most `limit` sessions, after the `skipped` newest."""
    conditions = [text for name, text in _CONDITIONS.items() if getattr(wanted, name) is not None]
    rows, counted = (
        " AND ".join([table, *conditions]) for table in ((_OPEN, _OPEN) if wanted.open else (_EVERY, _ALONE))
    )
    place = {**vars(wanted), "limit": limit, "skipped": skipped}
    sessions = [
        SessionRow(session_of(row), json.loads(row["context"]), row["extended"])
        for row in connection.execute(_PAGE.format(rows=rows), place)
    ]
    return SessionPage(sessions, count_of(connection, _COUNT.format(rows=counted), place))
