"""Which gates wait for the people of a tenant, page by page, and whether that is still the same."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from planwright.store.database import Database

_OPEN = "FROM gates WHERE status = 'open' AND tenant = ?"
_PAGE = f"SELECT gate_id {_OPEN} ORDER BY rowid LIMIT ? OFFSET ?"
_PULSE = f"SELECT count(*), coalesce(sum(rowid), 0), coalesce(sum(json_array_length(approvals)), 0) {_OPEN}"


@dataclass(frozen=True)
class GatePulse:
    """What waits, in three numbers: they are others once anything was asked, decided or approved."""

    count: int
    """How many gates are open."""
    places: float
    """Sum of the numbers of their rows."""
    approvals: float
    """How many approvals they have, where several people have to approve."""


class OpenGates:
    """Reads of what waits."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, tenant: str, limit: int, skipped: int) -> list[str]:
        """List the ids of open gates, oldest first, after the `skipped` oldest."""

        def job(connection: sqlite3.Connection) -> list[str]:
            return [str(row[0]) for row in connection.execute(_PAGE, (tenant, limit, skipped))]

        return await self._database.read(job)

    async def pulse(self, tenant: str) -> GatePulse:
        """Read what tells whether the same gates are open as before."""

        def job(connection: sqlite3.Connection) -> GatePulse:
            return GatePulse(*connection.execute(_PULSE, (tenant,)).fetchone())

        return await self._database.read(job, behind=())
