"""Workers: processes that take up what is queued. One is there as long as its process lives."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from planwright.store.database import Database
from planwright.store.owners import OwnerLocks, owner_of
from planwright.store.store_errors import store_error


@dataclass(frozen=True)
class WorkerRow:
    """A worker that is there."""

    label: str
    """Its process and machine, as people read them."""
    started_at: str
    """When it began, in ISO 8601."""
    at_once: int
    """Most runs that it goes on with at once."""


class Workers:
    """The table of workers."""

    def __init__(self, database: Database, owners: OwnerLocks) -> None:
        self._database = database
        self._owners = owners

    async def join(self, at: datetime, at_once: int) -> str:
        """Write this process down as a worker, and forget those that have died; return its name."""
        try:
            me = str(self._owners.me())
        except OSError as error:
            raise store_error(self._database.path, error) from error

        def job(connection: sqlite3.Connection) -> None:
            for (owner,) in connection.execute("SELECT owner FROM workers").fetchall():
                if self._owners.life_of(owner) == "dead":
                    connection.execute("DELETE FROM workers WHERE owner = ?", (owner,))
            connection.execute(
                "INSERT OR REPLACE INTO workers (owner, tenant, started_at, at_once) VALUES (?,?,?,?)",
                (me, "", at.isoformat(), at_once),
            )

        await self._database.run("worker", job)
        return me

    async def leave(self, name: str) -> None:
        """Take a worker off the list."""
        query = "DELETE FROM workers WHERE owner = ?"
        await self._database.run("worker", lambda c: c.execute(query, (name,)).rowcount)

    async def living(self) -> list[WorkerRow]:
        """List the workers whose processes live, or of which nobody here can tell."""

        def job(connection: sqlite3.Connection) -> list[WorkerRow]:
            query = "SELECT owner, started_at, at_once FROM workers ORDER BY started_at"
            return [
                WorkerRow(owner_of(owner).label, started_at, at_once)
                for owner, started_at, at_once in connection.execute(query)
                if self._owners.life_of(owner) != "dead"
            ]

        return await self._database.read(job)
