"""The journal: every event of every run, in order, once."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import Future

from planwright.checkpoints.database import Database
from planwright.graph.events import Event

_INSERT = (
    "INSERT OR IGNORE INTO journal (run_id, thread_id, tenant, seq, ts, type, key, data)"
    " VALUES (?,?,?,?,?,?,?,?)"
)


class Journal:
    """An append-only table of events."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, event: Event, key: str, tenant: str) -> Future[None]:
        """Queue an event without waiting; whatever is committed later is preceded by it.

        A second event of the same run and key is left out.
        """
        row = (event["run_id"], event["thread_id"], tenant, event["seq"], event["ts"], event["type"])
        data = json.dumps(event["data"], ensure_ascii=False)

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(_INSERT, (*row, key, data))

        return self._database.submit("journal", job)

    async def keys(self, run_id: str) -> set[str]:
        """Name the events of a run that are written down."""

        def job(connection: sqlite3.Connection) -> set[str]:
            query = "SELECT key FROM journal WHERE run_id = ?"
            return {row[0] for row in connection.execute(query, (run_id,))}

        return await self._database.run("read", job)

    async def last_seq(self, run_id: str) -> int:
        """Return the number of the newest event of a run, 0 when there is none."""

        def job(connection: sqlite3.Connection) -> int:
            query = "SELECT coalesce(max(seq), 0) FROM journal WHERE run_id = ?"
            return int(connection.execute(query, (run_id,)).fetchone()[0])

        return await self._database.run("read", job)
