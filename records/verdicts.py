"""Verdicts: what the critic ruled over each plan of a run, and why. Rows are added, and never changed."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from planwright.domain.lease import Lease
from planwright.domain.plan import Plan
from planwright.domain.results import RunVerdict
from planwright.records.queue.session_checkpoints import SessionCheckpoint, write_checkpoint
from planwright.store.database import Database
from planwright.store.fencing import ride


@dataclass(frozen=True)
class Ruled:
    """A verdict, and what it belongs to."""

    key: str
    """Key of the round; the id of the gate where a person accepted what the critic did not."""
    plan: Plan
    """The plan that it is about."""
    verdict: RunVerdict
    """The ruling."""
    facts: str | None = None
    """What it follows from, as JSON; None where a person ruled."""
    checkpoint: SessionCheckpoint | None = None
    """Where a session stands after it; None for a run that is no session."""


class Verdicts:
    """The table of verdicts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, lease: Lease, ruled: Ruled, at: datetime) -> None:
        """Write a verdict down under the key of its round; one that is there already stays as it is."""
        plan, verdict = ruled.plan, ruled.verdict
        row = (lease.run_id, lease.tenant, ruled.key, plan.plan_id, plan.plan_hash, plan.revision)
        ruling = (verdict.verdict, verdict.reason, verdict.model_dump_json(), verdict.inputs_hash)
        decided = verdict.decided_by or None

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO verdicts (run_id, tenant, key, plan_id, plan_hash, revision, verdict,"
                " reason, content, inputs_hash, decided_by, at, facts) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
                " ON CONFLICT DO NOTHING",
                (*row, *ruling, decided, at.isoformat(), ruled.facts),
            )
            if ruled.checkpoint is not None:
                write_checkpoint(connection, lease, ruled.key, ruled.checkpoint, at)

        ride(self._database, "verdict", lease, job)

    async def of_run(self, run_id: str) -> dict[str, RunVerdict]:
        """Map the keys of a run's verdicts to them, oldest first."""

        def job(connection: sqlite3.Connection) -> list[tuple[str, str]]:
            query = "SELECT key, content FROM verdicts WHERE run_id = ? ORDER BY rowid"
            return [(row[0], row[1]) for row in connection.execute(query, (run_id,))]

        rows = await self._database.read(job)
        return {key: RunVerdict.model_validate_json(content) for key, content in rows}
