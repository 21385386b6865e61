"""What users asked to be remembered, found again by full text (SQLite FTS5)."""

from __future__ import annotations

import json
import re
import sqlite3
from datetime import datetime

from pydantic import BaseModel

from planwright.domain.lease import Lease
from planwright.records.memory_proposals import forget_words
from planwright.store.database import Database
from planwright.store.fencing import held


class Memory(BaseModel):
    """One remembered text."""

    id: str
    """Id of the memory."""
    text: str
    """What is remembered."""
    tags: list[str]
    """Words to find it by."""
    created_at: str
    """When it was remembered, in ISO 8601."""

    @classmethod
    def new(cls, id_: str, text: str, tags: list[str], at: datetime) -> Memory:
        """Make the memory of a text that is remembered now."""
        return cls(id=id_, text=text, tags=tags, created_at=at.isoformat(timespec="seconds"))


class Memories:
    """A tenant's memories."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, memory: Memory, tenant: str, run_id: str, lease: Lease | None = None) -> Memory:
        """Remember a text under the id of its memory; the same id again changes nothing."""

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO memories (id, tenant, run_id, text, tags, created_at)"
                " VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING",
                (memory.id, tenant, run_id, memory.text, json.dumps(memory.tags), memory.created_at),
            )

        await self._database.run("memory", held(lease, job))
        return memory

    async def search(self, query: str, tenant: str, limit: int) -> list[Memory]:
        """Find memories that share words with a query, best first; all, newest first, without words."""
        words = re.findall(r"\w+", query)
        match = " OR ".join(f'"{word}"*' for word in words)

        def job(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            if not words:
                newest = "SELECT * FROM memories WHERE tenant = ? ORDER BY rowid DESC LIMIT ?"
                return connection.execute(newest, (tenant, limit)).fetchall()
            ranked = (
                "SELECT m.* FROM memories_fts JOIN memories m ON m.rowid = memories_fts.rowid"
                " WHERE memories_fts MATCH ? AND m.tenant = ? ORDER BY rank LIMIT ?"
            )
            return connection.execute(ranked, (match, tenant, limit)).fetchall()

        return [_read(row) for row in await self._database.read(job)]

    async def read(self, id_: str, tenant: str) -> Memory | None:
        """Read one memory; None where there is none of that id."""

        def job(connection: sqlite3.Connection) -> sqlite3.Row | None:
            query = "SELECT * FROM memories WHERE id = ? AND tenant = ?"
            row: sqlite3.Row | None = connection.execute(query, (id_, tenant)).fetchone()
            return row

        row = await self._database.read(job)
        return None if row is None else _read(row)

    async def holding(self, query: str, tenant: str) -> list[Memory]:
        """Find the memories that hold every word of a query; none without words."""
        match = " AND ".join(f'"{word}"' for word in re.findall(r"\w+", query))

        def job(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            holding = (
                "SELECT m.* FROM memories_fts JOIN memories m ON m.rowid = memories_fts.rowid"
                " WHERE memories_fts MATCH ? AND m.tenant = ? ORDER BY m.rowid"
            )
            return connection.execute(holding, (match, tenant)).fetchall() if match else []

        return [_read(row) for row in await self._database.read(job)]

    async def forget(
        self, id_: str, tenant: str, run_id: str, key: str, at: datetime, lease: Lease | None = None
    ) -> bool:
        """Delete a memory with its words in the index, and note under `key` that it is gone.

        Returns whether there was one.
        """

        def job(connection: sqlite3.Connection) -> bool:
            gone = connection.execute("DELETE FROM memories WHERE id = ? AND tenant = ?", (id_, tenant))
            if gone.rowcount:
                forget_words(connection, tenant, id_)
                connection.execute(
                    "INSERT INTO forgotten (key, tenant, run_id, memory_id, at) VALUES (?,?,?,?,?)"
                    " ON CONFLICT DO NOTHING",
                    (key, tenant, run_id, id_, at.isoformat(timespec="seconds")),
                )
            return bool(gone.rowcount)

        return await self._database.run("forget", held(lease, job))

    async def forgotten(self, key: str) -> str | None:
        """Name the memory that was deleted under a key; None when none was."""

        def job(connection: sqlite3.Connection) -> str | None:
            row = connection.execute("SELECT memory_id FROM forgotten WHERE key = ?", (key,)).fetchone()
            return str(row[0]) if row else None

        return await self._database.read(job)


def _read(row: sqlite3.Row) -> Memory:
    tags = json.loads(row["tags"])
    return Memory(id=row["id"], text=row["text"], tags=tags, created_at=row["created_at"])
