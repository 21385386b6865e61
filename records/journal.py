"""The journal: every event of every run, in order, once."""

from __future__ import annotations

import sqlite3
from collections import deque

from planwright.domain.events import Event
from planwright.domain.hashing import json_text
from planwright.domain.lease import Lease
from planwright.store.database import Database
from planwright.store.queued_job import Beside

_INSERT = (
    "INSERT INTO journal (run_id, thread_id, tenant, seq, ts, type, key, data)"
    " SELECT ?,?,?,?,?,?,?,? WHERE EXISTS (SELECT 1 FROM runs WHERE run_id = ? AND lease_token = ?)"
    " ON CONFLICT DO NOTHING"
)


class Journal:
    """An append-only table of events."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unwritten: deque[tuple[Lease, tuple[object, ...]]] = deque()
        self._queued = False

    def append(self, event: Event, key: str, lease: Lease) -> None:
        """Queue an event without waiting; whatever is queued later is not committed before it.

        A second event of the same run and key is left out, as is one of a run that was taken over, or of
        which something before it could not be written.
        """
        data = json_text(event["data"])
        row = (event["run_id"], event["thread_id"], lease.tenant, event["seq"], event["ts"], event["type"])
        self._unwritten.append((lease, (*row, key, data, lease.run_id, lease.token)))
        if not self._queued:  # else a job that has not begun will write it, too
            self._queued = True
            try:
                self._submit()
            except BaseException:
                self._queued = False  # else no later event would be submitted
                raise

    def _submit(self) -> None:
        events: list[tuple[Lease, tuple[object, ...]]] = []

        def job(connection: sqlite3.Connection) -> None:
            self._queued = False
            events.extend(self._unwritten.popleft() for _ in range(len(self._unwritten)))
            rows = [row for lease, row in events if not lease.unwritten]
            connection.executemany(_INSERT, rows)  # all once more, where a commit has failed

        def lost(failure: BaseException) -> None:
            for lease in {id(lease): lease for lease, _ in events}.values():
                lease.unwritten.append(failure)

        self._database.submit("journal", Beside(job), rides=True, lost=lost)

    async def keys(self, run_id: str) -> set[str]:
        """Name the events of a run that are written down."""

        def job(connection: sqlite3.Connection) -> set[str]:
            query = "SELECT key FROM journal WHERE run_id = ?"
            return {row[0] for row in connection.execute(query, (run_id,))}

        return await self._database.read(job)

    async def last_seq(self, run_id: str) -> int:
        """Return the number of the newest event of a run, 0 when there is none."""

        def job(connection: sqlite3.Connection) -> int:
            query = "SELECT coalesce(max(seq), 0) FROM journal WHERE run_id = ?"
            return int(connection.execute(query, (run_id,)).fetchone()[0])

        return await self._database.read(job)
