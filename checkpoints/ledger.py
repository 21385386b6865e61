"""The effect ledger: intent → effect → done, each effect recorded once.

The promise: exactly-once recorded effects; at-most-once execution of blind effects with an
explicit in-doubt state; exactly-once where the receiver honours the key.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal

from pydantic import JsonValue

from planwright.checkpoints.database import Database
from planwright.graph.canonical import canonical_json, sha256
from planwright.graph.errors import LedgerConflict, RunError
from planwright.graph.results import StepResult
from planwright.graph.risk import Effect

Status = Literal["intent", "done", "failed", "in_doubt"]


@dataclass(frozen=True)
class EffectCall:
    """One capability call that changes something, by all that makes it this call and no other."""

    tenant: str
    thread_id: str
    run_id: str
    step_uid: str
    capability: str
    effect: Effect
    args: dict[str, JsonValue]
    lease_token: int
    attempt: int = 1
    ordinal: int = 1
    undo_key: str | None = None

    @cached_property
    def key(self) -> str:
        """The idempotency key: 64 hex digits, the same after a crash, another per attempt."""
        return sha256(
            [self.tenant, self.thread_id, self.run_id, self.step_uid]
            + [self.attempt, self.ordinal, self.capability]
        )

    @property
    def sent_key(self) -> str:
        """The key that the receiver is given; that of undoing an effect outlasts a run (SPEC §9)."""
        return self.undo_key or self.key

    @property
    def args_hash(self) -> str:
        """Hash of the arguments; the same key with other arguments is a conflict."""
        return sha256(self.args)


@dataclass(frozen=True)
class Recorded:
    """What the ledger already knows of a call; `fresh` when it was written down just now."""

    status: Status
    fresh: bool
    result: JsonValue = None
    error: str = ""


class Ledger:
    """The tables of effects and of settled steps."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def intend(self, call: EffectCall, at: datetime) -> Recorded:
        """Write down an effect before it happens, or return what is recorded of it.

        Raises LedgerConflict for a key seen with other arguments, and RunError when the run was
        taken over by another process (fencing token).
        """
        return await self._database.run("intent", lambda c: _intend(c, call, at))

    async def settle(
        self,
        call: EffectCall,
        status: Status,
        at: datetime,
        result: JsonValue = None,
        error: str = "",
        code: str = "",
    ) -> None:
        """Write down how an effect ended; `code` tells one that was refused from one nobody answered."""
        row = (status, canonical_json(result), error, code, at.isoformat(), call.key)

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE effects SET status=?, result=?, error=?, code=?, ended_at=? WHERE key=?", row
            )

        await self._database.run(status, job)

    async def settle_step(self, run_id: str, tenant: str, result: StepResult, at: datetime) -> None:
        """Write down how a step ended; its dependents start only after that."""
        row = (run_id, tenant, result.uid, result.step_id, result.status)
        content = result.model_dump_json()

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT OR IGNORE INTO steps (run_id, tenant, uid, step_id, status, result, ended_at)"
                " VALUES (?,?,?,?,?,?,?)",
                (*row, content, at.isoformat()),
            )

        await self._database.run("step", job)

    async def confirm(self, run_id: str, tenant: str, result: StepResult, by: str, at: datetime) -> None:
        """Write down that an effect in doubt has happened, as a person says, and with what result."""
        content, output = result.model_dump_json(), canonical_json(result.output)

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE effects SET status='done', result=?, error=?, ended_at=? WHERE run_id=? AND tenant=?"
                " AND step_uid=? AND status='in_doubt'",
                (output, f"confirmed by {by}", at.isoformat(), run_id, tenant, result.uid),
            )
            connection.execute(
                "UPDATE steps SET status=?, result=?, ended_at=? WHERE run_id=? AND tenant=? AND uid=?"
                " AND json_extract(result, '$.code') = 'in_doubt'",
                (result.status, content, at.isoformat(), run_id, tenant, result.uid),
            )

        await self._database.run("confirm", job)

    async def settled_steps(self, run_id: str) -> list[StepResult]:
        """List the steps of a run that have ended."""

        def job(connection: sqlite3.Connection) -> list[str]:
            query = "SELECT result FROM steps WHERE run_id = ? ORDER BY ended_at, rowid"
            return [row[0] for row in connection.execute(query, (run_id,))]

        return [StepResult.model_validate_json(row) for row in await self._database.run("read", job)]

    async def called_in(self, run_id: str, prefix: str) -> set[str]:
        """Name the capabilities whose calls have ended in a run, in steps whose id begins with `prefix`."""

        def job(connection: sqlite3.Connection) -> set[str]:
            query = (
                "SELECT DISTINCT json_extract(result, '$.capability') FROM steps"
                " WHERE run_id = ? AND substr(step_id, 1, ?) = ? AND status <> 'skipped'"
            )
            return {str(row[0]) for row in connection.execute(query, (run_id, len(prefix), prefix))}

        return await self._database.run("read", job)

    async def called_before(self, run_id: str, thread_id: str) -> set[str]:
        """Name the capabilities called in other runs of a thread, and of the one that a fork came from."""

        def job(connection: sqlite3.Connection) -> set[str]:
            query = (
                "SELECT DISTINCT json_extract(s.result, '$.capability')"
                " FROM steps s JOIN runs r USING (run_id)"
                " WHERE s.status <> 'skipped' AND r.run_id <> :run AND r.thread_id IN (:thread,"
                " (SELECT o.thread_id FROM forks f JOIN runs o ON o.run_id = f.source_run"
                " WHERE f.run_id = :run))"
            )
            rows = connection.execute(query, {"run": run_id, "thread": thread_id})
            return {str(row[0]) for row in rows}

        return await self._database.run("read", job)


def _intend(connection: sqlite3.Connection, call: EffectCall, at: datetime) -> Recorded:
    run = connection.execute("SELECT lease_token FROM runs WHERE run_id = ?", (call.run_id,)).fetchone()
    if run is None or run[0] != call.lease_token:
        raise RunError(
            f"run {call.run_id} was taken over by another process", "planwright show " + call.run_id
        )
    row = connection.execute("SELECT * FROM effects WHERE key = ?", (call.key,)).fetchone()
    if row is None:
        connection.execute(
            "INSERT INTO effects (key, tenant, thread_id, run_id, step_uid, attempt, ordinal, capability,"
            " effect, args_hash, args, status, intended_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,'intent',?)",
            (call.key, call.tenant, call.thread_id, call.run_id, call.step_uid, call.attempt, call.ordinal)
            + (call.capability, call.effect, call.args_hash, canonical_json(call.args), at.isoformat()),
        )
        return Recorded("intent", fresh=True)
    if row["args_hash"] != call.args_hash:
        raise LedgerConflict(
            f"{call.capability} was recorded under {call.key[:12]} with other arguments",
            f"look at both: planwright show {call.run_id}",
        )
    result = json.loads(row["result"]) if row["result"] else None
    return Recorded(row["status"], fresh=False, result=result, error=row["error"] or "")
