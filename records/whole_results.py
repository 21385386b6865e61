"""Results that were too large to be shown, read back piece by piece by the thread whose run got them."""

from __future__ import annotations

import asyncio
import sqlite3

from planwright.domain.errors import CapabilityRejected
from planwright.records.runs import FAMILY
from planwright.store.blobs import Blobs
from planwright.store.database import Database

SHORTEST = 12


class WholeResults:
    """Look large results up by reference: the first digits of their hash."""

    def __init__(self, database: Database, blobs: Blobs) -> None:
        self._database = database
        self._blobs = blobs

    async def read(self, run_id: str, tenant: str, ref: str) -> str:
        """Read a result of a run, of an earlier one of its thread, or of what that was forked from.

        Raises CapabilityRejected for a reference that is none of theirs.
        """

        def job(connection: sqlite3.Connection) -> list[str]:
            query = "SELECT thread_id FROM runs WHERE run_id = ?"
            thread = connection.execute(query, (run_id,)).fetchone()
            rows = connection.execute(
                f"WITH RECURSIVE {FAMILY} SELECT DISTINCT json_extract(s.result, '$.blob') AS blob"
                " FROM steps s JOIN runs r ON r.run_id = s.run_id"
                " WHERE r.thread_id IN (SELECT thread_id FROM family) AND s.tenant = :tenant"
                " AND substr(json_extract(s.result, '$.blob'), 1, length(:ref)) = :ref",
                {"thread": thread[0] if thread else "", "tenant": tenant, "ref": ref},
            )
            return [str(row["blob"]) for row in rows]

        rows = await self._database.read(job) if len(ref) >= SHORTEST else []
        if len(rows) != 1:
            raise CapabilityRejected(
                f"no result of this thread is {ref!a}", "copy the ref of a shortened result"
            )
        return await asyncio.to_thread(self._blobs.get, rows[0])


def ref_of(digest: str) -> str:
    """Shorten the hash of a result to what names it within its run."""
    return digest[:SHORTEST]
