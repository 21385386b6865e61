"""Which gates are open: by name, page by page, and whether they are still the same."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from planwright.records.history.rows import Row, count_of, rows_of

_OPEN = "FROM gates WHERE status = 'open' AND tenant = ?"
_PAGE = f"SELECT gate_id {_OPEN} ORDER BY rowid LIMIT ? OFFSET ?"
_PULSE = f"SELECT count(*), coalesce(sum(rowid), 0), coalesce(sum(json_array_length(approvals)), 0) {_OPEN}"
_NAMED = """FROM gates WHERE (:id IS NULL AND status = 'open') OR gate_id = :id
    OR (thread_id = :id AND status = 'open')"""
_NAMED_ROWS = f"""SELECT * FROM gates WHERE gate_id IN (SELECT gate_id {_NAMED} ORDER BY rowid LIMIT :most)
    ORDER BY rowid"""


@dataclass(frozen=True)
class GatePulse:
    """What waits, in three numbers: they are others once anything was asked, decided or approved."""

    count: int
    """How many gates are open."""
    places: float
    """Sum of the numbers of their rows."""
    approvals: float
    """How many approvals they have, where several people have to approve."""


def open_gate_ids(connection: sqlite3.Connection, tenant: str, limit: int, skipped: int) -> list[str]:
    """List the ids of open gates of a tenant, oldest first, after the `skipped` oldest."""
    return [str(row[0]) for row in connection.execute(_PAGE, (tenant, limit, skipped))]


def gate_pulse(connection: sqlite3.Connection, tenant: str) -> GatePulse:
    """Read what tells whether the same gates of a tenant are open as before."""
    return GatePulse(*connection.execute(_PULSE, (tenant,)).fetchone())


def gates_named(connection: sqlite3.Connection, which: str | None, most: int) -> tuple[list[Row], int]:
    """List at most so many gates of a name (id or thread), or all that are open; and count them."""
    place = {"id": which, "most": most}
    count = count_of(connection, f"SELECT count(*) {_NAMED}", place)
    return list(rows_of(connection, _NAMED_ROWS, place)), count
