"""Who has signed in at the page, or tried to: rows that are added and never changed."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from planwright.store.database import Database

Way = Literal["link", "token", "provider", "answer"]
Outcome = Literal["signed in", "refused", "signed out"]


@dataclass(frozen=True)
class SignIn:
    """One attempt to sign in, or the end of a visit."""

    way: Way
    """By the link of the start, a token that was typed, the provider, or a link that takes an answer."""
    outcome: Outcome
    """What came of it."""
    address: str
    """IP address that it came from."""
    person: str = ""
    """Who it was; of a refusal what the provider says, or nothing."""
    tenant: str = ""
    """Whose records were opened; "" for a refusal."""
    at: str = ""
    """When, as ISO 8601 in UTC; set when it is recorded."""


class SignIns:
    """The record of sign-ins of a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, sign_in: SignIn, at: datetime) -> None:
        """Record a sign-in. Raises StoreFailed where it cannot be; then nobody may come in."""
        row = (at.isoformat(), sign_in.person, sign_in.tenant, sign_in.way, sign_in.address, sign_in.outcome)
        insert = (
            "INSERT INTO sign_ins (n, at, person, tenant, way, address, outcome)"
            " SELECT coalesce(max(n), 0) + 1, ?, ?, ?, ?, ?, ? FROM sign_ins"
        )
        await self._database.run("sign_in", lambda connection: connection.execute(insert, row))

    async def newest(self, tenant: str, limit: int, skipped: int) -> list[SignIn]:
        """Read sign-ins of a tenant, and refusals, which are nobody's; the newest first."""

        def read(connection: sqlite3.Connection) -> list[SignIn]:
            rows = connection.execute(
                "SELECT way, outcome, address, person, tenant, at FROM sign_ins WHERE tenant IN (?, '')"
                " ORDER BY n DESC LIMIT ? OFFSET ?",
                (tenant, limit, skipped),
            )
            return [SignIn(*row) for row in rows]

        return await self._database.read(read)

    async def count(self, tenant: str) -> int:
        """Count what `newest` can read."""

        def read(connection: sqlite3.Connection) -> int:
            (count,) = connection.execute(
                "SELECT count(*) FROM sign_ins WHERE tenant IN (?, '')", (tenant,)
            ).fetchone()
            return int(count)

        return await self._database.read(read)
