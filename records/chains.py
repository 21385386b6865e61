"""The chains that runs have made: one definition a run and name, for good."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from planwright.domain.chain import Chain
from planwright.domain.errors import CapabilityRejected, LedgerConflict
from planwright.domain.lease import Lease
from planwright.store.database import Database
from planwright.store.fencing import held


class CreatedChains:
    """The table of chains."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def make(self, run_id: str, tenant: str, chain: Chain, at: datetime, lease: Lease | None) -> None:
        """Keep a chain for its run; the same again changes nothing.

        Raises CapabilityRejected when the run has another chain of that name: calls of it may be
        approved already.
        """

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO chains (run_id, tenant, name, hash, definition, made_at)"
                " VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING",
                (run_id, tenant, chain.name, chain.hash, chain.model_dump_json(), at.isoformat()),
            )
            query = "SELECT hash FROM chains WHERE run_id = ? AND name = ?"
            if connection.execute(query, (run_id, chain.name)).fetchone()[0] != chain.hash:
                raise another(chain.name)

        await self._database.run("chain", held(lease, job))

    async def of_run(self, run_id: str) -> list[Chain]:
        """List the chains of a run in the order they were made.

        Raises LedgerConflict for a definition that was changed where it is kept.
        """

        def job(connection: sqlite3.Connection) -> list[tuple[str, str]]:
            query = "SELECT hash, definition FROM chains WHERE run_id = ? ORDER BY rowid"
            return [tuple(row) for row in connection.execute(query, (run_id,))]

        rows = await self._database.read(job, behind=())
        chains = [(hash_, Chain.model_validate_json(definition)) for hash_, definition in rows]
        for hash_, chain in chains:
            if chain.hash != hash_:
                raise LedgerConflict(
                    f"the chain {chain.name} of run {run_id} is not what was made",
                    "the store was changed by something else: restore a backup, or begin a new run",
                )
        return [chain for _, chain in chains]


def another(name: str) -> CapabilityRejected:
    """Say that a name stands for other steps already."""
    return CapabilityRejected(
        f"this run has a chain {name} already, with another definition", "give the new one a name of its own"
    )
