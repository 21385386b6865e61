"""Results that were too large to be shown, read back piece by piece by the run that got them."""

from __future__ import annotations

import asyncio
import sqlite3

from planwright.domain.errors import CapabilityRejected
from planwright.store.blobs import Blobs
from planwright.store.database import Database

SHORTEST = 12


class WholeResults:
    """Look large results up by reference: the first digits of their hash."""

    def __init__(self, database: Database, blobs: Blobs) -> None:
        self._database = database
        self._blobs = blobs

    async def read(self, run_id: str, tenant: str, ref: str) -> str:
        """Read a result of a run. Raises CapabilityRejected for a reference that is none of its own."""

        def job(connection: sqlite3.Connection) -> list[str]:
            rows = connection.execute(
                "SELECT DISTINCT json_extract(result, '$.blob') AS blob FROM steps WHERE run_id = ?"
                " AND tenant = ? AND substr(json_extract(result, '$.blob'), 1, length(?)) = ?",
                (run_id, tenant, ref, ref),
            )
            return [str(row["blob"]) for row in rows]

        rows = await self._database.read(job) if len(ref) >= SHORTEST else []
        if len(rows) != 1:
            raise CapabilityRejected(
                f"no result of this run is {ref!a}", "copy the ref of a shortened result"
            )
        return await asyncio.to_thread(self._blobs.get, rows[0])


def ref_of(digest: str) -> str:
    """Shorten the hash of a result to what names it within its run."""
    return digest[:SHORTEST]
