"""Checkpoints of sessions: after every verdict, what is done, what it cost, and what comes next.

Each is named by the hash of its content, and never changed. It is written in the transaction of its verdict:
where it cannot be written, there is no verdict either.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.domain.hashing import canonical_json, sha256
from planwright.domain.lease import Lease
from planwright.domain.plan import Plan
from planwright.domain.results import RunVerdict, StepResult


class SessionCheckpoint(BaseModel):
    """Where a session stood when the critic had ruled."""

    model_config = ConfigDict(frozen=True)
    plan_id: str
    """Id of the plan."""
    plan_hash: str
    """Hash of all of the plan that can change what runs."""
    revision: int
    """Revision of the plan."""
    verdict: str
    """The ruling."""
    evidence: str
    """Hash of the facts that the ruling follows from."""
    steps: dict[str, str]
    """How each step ended, by its uid: under it lie its transcript, its effects and its result."""
    scores: list[JsonValue]
    """The marks of the steps, as the critic gave them."""
    used: dict[str, int]
    """What the run had used by then: tokens, calls, cost (millionths of a cent), model_calls."""
    next_step: str | None
    """Id of the first step that has not succeeded, in the order of the plan; None where there is none."""

    @property
    def hash(self) -> str:
        """The hash of its content, by which it is named."""
        return sha256(self.model_dump(mode="json"))


def checkpoint_after(
    plan: Plan, verdict: RunVerdict, results: Sequence[StepResult], used: dict[str, int]
) -> SessionCheckpoint:
    """Sum up a session after a verdict; `results` are those of the plan, in its order."""
    return SessionCheckpoint(
        plan_id=plan.plan_id,
        plan_hash=plan.plan_hash,
        revision=plan.revision,
        verdict=verdict.verdict,
        evidence=verdict.inputs_hash,
        steps={result.uid: result.status for result in results},
        scores=[mark.model_dump(mode="json") for mark in verdict.step_scores],
        used=used,
        next_step=next((result.step_id for result in results if result.status != "completed"), None),
    )


def write_checkpoint(
    connection: sqlite3.Connection, lease: Lease, key: str, checkpoint: SessionCheckpoint, at: datetime
) -> None:
    """Write a checkpoint down, in the transaction of its verdict; the same one twice is one."""
    connection.execute(
        "INSERT INTO session_checkpoints (run_id, tenant, hash, verdict_key, content, at)"
        " VALUES (?,?,?,?,?,?) ON CONFLICT DO NOTHING",
        (lease.run_id, lease.tenant, checkpoint.hash, key)
        + (canonical_json(checkpoint.model_dump(mode="json")), at.isoformat()),
    )
