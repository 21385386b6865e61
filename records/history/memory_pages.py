"""What a tenant had remembered, searched, a page at a time; and what runs propose to remember."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from planwright.domain.memory_proposal import Proposal
from planwright.records.history.rows import Row
from planwright.records.memory_proposals import read_proposal
from planwright.store.database import Database

_FROM = """FROM memories WHERE tenant = :tenant AND (:id = '' OR id = :id)
    AND (:text = '' OR instr(lower(text), lower(:text)) > 0 OR instr(lower(tags), lower(:text)) > 0)"""
_PAGE = f"SELECT id, run_id, text, tags, created_at {_FROM} ORDER BY rowid DESC LIMIT :limit OFFSET :skipped"
_COUNT = f"SELECT count(*) {_FROM}"
_PROPOSALS = """SELECT * FROM proposals WHERE tenant = :tenant AND (:id = '' OR id = :id)
    AND (:every = 1 OR status = 'proposed') ORDER BY created_at DESC, rowid DESC LIMIT :limit"""


@dataclass(frozen=True)
class MemoryPage:
    """One page of memories."""

    rows: Sequence[Row]
    """Memories of the page, the newest first: `id`, `run_id`, `text`, `tags`, `created_at`."""
    total: int
    """How many memories there are on all pages."""


class MemoryPages:
    """The memories of a tenant, page by page, and their proposals."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, tenant: str, text: str, limit: int, skipped: int) -> MemoryPage:
        """Read a page of at most `limit` memories that hold a text, after the `skipped` newest."""
        place = {"tenant": tenant, "text": text, "id": "", "limit": limit, "skipped": skipped}

        def job(connection: sqlite3.Connection) -> MemoryPage:
            rows = [_memory(row) for row in connection.execute(_PAGE, place)]
            return MemoryPage(rows, int(connection.execute(_COUNT, place).fetchone()[0]))

        return await self._database.read(job)

    async def memory(self, tenant: str, id_: str) -> Row | None:
        """Find one memory of a tenant; None where there is none."""
        place = {"tenant": tenant, "text": "", "id": id_, "limit": 1, "skipped": 0}

        def job(connection: sqlite3.Connection) -> Row | None:
            row = connection.execute(_PAGE, place).fetchone() if id_ else None
            return None if row is None else _memory(row)

        return await self._database.read(job)

    async def proposals(self, tenant: str, limit: int, *, every: bool = False) -> list[Proposal]:
        """List at most `limit` proposals, the newest first: the open ones, or all."""
        return await self._proposals({"tenant": tenant, "id": "", "every": int(every), "limit": limit})

    async def proposal(self, tenant: str, id_: str) -> Proposal | None:
        """Find one proposal of a tenant, however it stands; None where there is none."""
        if not id_:
            return None
        rows = await self._proposals({"tenant": tenant, "id": id_, "every": 1, "limit": 1})
        return rows[0] if rows else None

    async def _proposals(self, place: dict[str, object]) -> list[Proposal]:
        def job(connection: sqlite3.Connection) -> list[Proposal]:
            return [read_proposal(row) for row in connection.execute(_PROPOSALS, place)]

        return await self._database.read(job)


def _memory(row: sqlite3.Row) -> Row:
    return {**dict(row), "tags": json.loads(row["tags"])}
