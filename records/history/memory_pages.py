"""What a tenant had remembered, searched, a page at a time; and what runs propose to remember."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from planwright.records.history.rows import Row, count_of, rows_of

ALL = 1 << 62  # more than there can be
_FROM = """FROM memories WHERE tenant = :tenant AND (:id IS NULL OR id = :id)
    AND (:text = '' OR instr(lower(text), lower(:text)) > 0 OR instr(lower(tags), lower(:text)) > 0)"""
_COLUMNS = "id, tenant, run_id, text, tags, created_at"  # PostgreSQL has the words of the search beside them
_PAGE = f"SELECT {_COLUMNS} {_FROM} ORDER BY rowid DESC LIMIT :limit OFFSET :skipped"
_COUNT = f"SELECT count(*) {_FROM}"
_PROPOSALS = """SELECT * FROM proposals WHERE {where} ORDER BY created_at DESC, rowid DESC LIMIT :limit"""
_CONDITIONS = {"id": "id = :id", "run": "run_id = :run", "open": "status = 'proposed'"}


@dataclass(frozen=True)
class MemoryFilter:
    """Which memories or proposals are wanted; what is None, or a text of "", leaves none out."""

    tenant: str
    """Tenant that they belong to."""
    text: str = ""
    """Words in a memory or its tags."""
    id: str | None = None
    """Its id; None for any."""
    run: str | None = None
    """Run that has proposed it; None for any."""
    every: bool = False
    """Whether proposals that were decided over are wanted, too."""


@dataclass(frozen=True)
class MemoryPage:
    """One page of memories."""

    rows: Sequence[Row]
    """Memories of the page, the newest first: `id`, `run_id`, `text`, `tags`, `created_at`."""
    total: int
    """How many memories there are on all pages."""


def memory_page(
    connection: sqlite3.Connection, wanted: MemoryFilter, limit: int = ALL, skipped: int = 0
) -> MemoryPage:
    """Read a page of at most `limit` memories, after the `skipped` newest."""
    place = {**vars(wanted), "limit": limit, "skipped": skipped}
    return MemoryPage(list(rows_of(connection, _PAGE, place)), count_of(connection, _COUNT, place))


def proposal_rows(connection: sqlite3.Connection, wanted: MemoryFilter, limit: int = ALL) -> list[Row]:
    """List at most `limit` proposals, the newest first."""
    matters = {"id": wanted.id is not None, "run": wanted.run is not None, "open": not wanted.every}
    where = " AND ".join(["tenant = :tenant", *(_CONDITIONS[name] for name in matters if matters[name])])
    return list(rows_of(connection, _PROPOSALS.format(where=where), {**vars(wanted), "limit": limit}))
