"""Pages of sessions: runs in the background of one tenant, the newest first."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planwright.records.queue.session import COLUMNS, Session, session_of
from planwright.store.database import Database

_FROM = """FROM sessions s JOIN runs r USING (run_id)
    WHERE r.tenant = :tenant AND (:open = 0 OR r.ended_at IS NULL)"""
_PAGE = f"""SELECT {COLUMNS}, r.context, r.extended {_FROM}
    ORDER BY s.rowid DESC LIMIT :limit OFFSET :skipped"""
_COUNT = f"SELECT count(*) {_FROM}"


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


class SessionPages:
    """The sessions of a tenant, page by page."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, tenant: str, limit: int, skipped: int, *, open_only: bool = False) -> SessionPage:
        """Read a page of at most `limit` sessions, after the `skipped` newest."""
        place = {"tenant": tenant, "open": int(open_only), "limit": limit, "skipped": skipped}

        def job(connection: sqlite3.Connection) -> SessionPage:
            rows = [
                SessionRow(session_of(row), json.loads(row["context"]), row["extended"])
                for row in connection.execute(_PAGE, place)
            ]
            return SessionPage(rows, int(connection.execute(_COUNT, place).fetchone()[0]))

        return await self._database.read(job)
