"""Calls that are made instead of ones that failed: one a step, on record before it is made."""

from __future__ import annotations

import json
import sqlite3

from planwright.domain.plan import Plan
from planwright.domain.verified_step import VerifiedStep
from planwright.store.database import Database

_PREFIX = "instead_"
STEP_ENDED = f"""(EXISTS (SELECT 1 FROM steps s WHERE s.run_id = e.run_id AND s.uid = e.step_uid)
    OR EXISTS (SELECT 1 FROM plans p WHERE p.run_id = e.run_id AND instr(p.checked, e.step_uid) > 0
        AND (p.kind = 'memory' OR (p.kind = 'alternative' AND EXISTS (SELECT 1 FROM steps s
            WHERE s.run_id = p.run_id AND json_extract(p.plan, '$.plan_id') = '{_PREFIX}' || s.uid)))))"""
"""Of an effect `e`: its step has ended, or the one in whose place it was made. Memories have none."""


class Alternatives:
    """Look up what was chosen instead of a step, so that after a crash it is not chosen anew."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, run_id: str, uid: str) -> tuple[Plan, VerifiedStep] | None:
        """Find the alternative to a step, as a plan of one call."""

        def job(connection: sqlite3.Connection) -> tuple[str, str] | None:
            row = connection.execute(
                "SELECT plan, checked FROM plans WHERE run_id = ? AND kind = 'alternative'"
                " AND json_extract(plan, '$.plan_id') = ?",
                (run_id, plan_id(uid)),
            ).fetchone()
            return None if row is None else (str(row[0]), str(row[1]))

        record = await self._database.read(job)
        if record is None:
            return None
        (checked,) = json.loads(record[1])
        return Plan.model_validate_json(record[0]), VerifiedStep.model_validate(checked)


def step_replaced_by(connection: sqlite3.Connection, run_id: str, uid: str) -> str:
    """Find the step in whose place a call was made, by the uid of the call; empty where it is none."""
    query = "SELECT plan, checked FROM plans WHERE run_id = ? AND kind = 'alternative'"
    for plan, checked in connection.execute(query, (run_id,)):
        if uid in (entry["uid"] for entry in json.loads(checked)):
            return step_of(str(json.loads(plan)["plan_id"]))
    return ""


def step_of(plan_id: str) -> str:
    """Name the step that an alternative is tried for, by the plan of that."""
    return plan_id.removeprefix(_PREFIX)


def plan_id(uid: str) -> str:
    """Name the plan of the alternative to a step."""
    return f"{_PREFIX}{uid}"
