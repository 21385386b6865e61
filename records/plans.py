"""Plans on record: what was verified, the card a person was shown of it, and whether it may run.

Only what is on record here can be executed; the state of a thread is not trusted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from pydantic import JsonValue

from planwright.domain.errors import RunError
from planwright.domain.hashing import canonical_json, sha256, stored_json
from planwright.domain.lease import Lease
from planwright.domain.plan import Plan
from planwright.domain.verified_step import VerifiedStep
from planwright.store.database import Database
from planwright.store.fencing import of_run, ride

PlanKind = Literal["plan", "calls", "alternative", "chain", "memory"]


@dataclass(frozen=True)
class PlanGate:
    """The gate at which a person has to approve a plan first."""

    id: str
    """Its id."""
    card: Mapping[str, JsonValue]
    """What it shows."""


@dataclass(frozen=True)
class RunnablePlan:
    """The steps of a plan that may run, by uid; none when it may not. `approved`: a person approved it."""

    kind: PlanKind = "plan"
    """What it is: a plan, the calls of a reply, or another row of calls."""
    steps: Mapping[str, VerifiedStep] = field(default_factory=dict)
    """Its steps by uid; empty when none may run."""
    approved: bool = False
    """Whether a person approved it."""


class Plans:
    """The table of plans."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._riding: dict[tuple[str, str], RunnablePlan] = {}  # recorded here, and not committed yet

    async def record(
        self,
        lease: Lease,
        plan: Plan,
        checked: Sequence[VerifiedStep],
        at: datetime,
        *,
        kind: PlanKind = "plan",
        gate: PlanGate | None = None,
    ) -> None:
        """Keep a verified plan; only plans kept here can be executed.

        The calls of one reply are kept the same way, as kind `calls`; parts of a chain, an alternative and
        what is remembered by a rule as theirs.

        A plan that comes back, after an edit was undone, is asked for at its newest gate; one that
        had an open gate never loses it, and its card stays. A gate that has not opened goes by what was read
        since. One that nobody is asked about rides: no effect of it is on record before it.
        """
        steps = stored_json(checked)
        gate_id, card = (gate.id, canonical_json(dict(gate.card))) if gate else (None, None)

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO plans (run_id, tenant, plan_hash, revision, plan, checked, gate_id, created_at,"
                " kind, card) VALUES (?,?,?,?,?,?,?,?,?,?)"
                " ON CONFLICT (run_id, plan_hash) DO UPDATE SET checked = excluded.checked,"
                " plan = excluded.plan, revision = excluded.revision, created_at = excluded.created_at,"
                " rowid = (SELECT max(rowid) + 1 FROM plans),"  # the newest is the last row
                " card = CASE WHEN plans.gate_id IS excluded.gate_id AND EXISTS"
                " (SELECT 1 FROM gates WHERE gates.gate_id = plans.gate_id) THEN plans.card"
                " ELSE coalesce(excluded.card, plans.card) END,"
                " gate_id = coalesce(excluded.gate_id,"
                " (SELECT gate_id FROM gates WHERE gates.gate_id = plans.gate_id))",
                (lease.run_id, lease.tenant, plan.plan_hash, plan.revision, stored_json(plan), steps)
                + (gate_id, at.isoformat(), kind, card),
            )

        if gate is not None:
            await self._database.run("plan", of_run(lease, job))
            return
        key = (lease.run_id, plan.plan_hash)
        plan_on_its_way = RunnablePlan(kind, {step.uid: step for step in checked})
        self._riding[key] = plan_on_its_way

        def arrived(_: object) -> None:
            if self._riding.get(key) is plan_on_its_way:  # else the same plan was recorded once more
                del self._riding[key]

        ride(self._database, "plan", lease, job).add_done_callback(arrived)

    async def read(self, run_id: str, plan_hash: str) -> Plan | None:
        """Read a plan that was verified, as it was; whether it may run is another question."""

        def job(connection: sqlite3.Connection) -> str | None:
            query = "SELECT plan FROM plans WHERE run_id = ? AND plan_hash = ?"
            row = connection.execute(query, (run_id, plan_hash)).fetchone()
            return None if row is None else str(row[0])

        text = await self._database.read(job)
        plan = None if text is None else Plan.model_validate_json(text)
        return plan if plan and plan.plan_hash == plan_hash else None

    async def steps_of_run(self, run_id: str) -> list[VerifiedStep]:
        """Read the steps of all plans of a run that were verified, oldest first, whatever became of them."""

        def job(connection: sqlite3.Connection) -> list[str]:
            query = "SELECT checked FROM plans WHERE run_id = ? AND kind = 'plan' ORDER BY rowid"
            return [text for (text,) in connection.execute(query, (run_id,))]

        texts = await self._database.read(job)
        return [step for text in texts for step in _steps(text).values()]

    async def card(self, run_id: str, gate_id: str) -> tuple[str, dict[str, Any]]:
        """Read what a gate has to show: the hash of its plan, and the card made when that was verified.

        Raises RunError when there is none: then the state was changed from outside, and nothing runs.
        """

        def job(connection: sqlite3.Connection) -> sqlite3.Row | None:
            query = "SELECT plan_hash, card FROM plans WHERE run_id = ? AND gate_id = ?"
            row: sqlite3.Row | None = connection.execute(query, (run_id, gate_id)).fetchone()
            return row

        row = await self._database.read(job)
        if row is None or row["card"] is None:
            raise RunError(
                f"no plan of run {run_id} on record asks at gate {gate_id}: the state was changed",
                f"end the run: planwright cancel {run_id}",
            )
        return row["plan_hash"], json.loads(row["card"])

    async def was_asked_for(self, run_id: str, plan_hash: str) -> bool:
        """Say whether a person was asked to approve a plan of this run, whatever they answered.

        A plan whose reads were made first, and of which nothing was left to ask about, was not.
        A plan that a fork took over counts as asked for where it was: that answer itself never counts.
        One that undoes a run is always asked for.
        """

        def job(connection: sqlite3.Connection) -> bool:
            query = (
                "SELECT 1 FROM plans JOIN gates USING (gate_id) WHERE plan_hash = ?"
                " AND plans.run_id IN (?, (SELECT source_run FROM forks WHERE run_id = ?))"
                " UNION SELECT 1 FROM forks WHERE run_id = ? AND undo = 1"
            )
            return connection.execute(query, (plan_hash, run_id, run_id, run_id)).fetchone() is not None

        return await self._database.read(job)

    async def any_of(self, run_id: str) -> bool:
        """Say whether a run has a plan on record, approved or not."""

        def job(connection: sqlite3.Connection) -> bool:
            query = "SELECT 1 FROM plans WHERE run_id = ? AND kind = 'plan'"
            return connection.execute(query, (run_id,)).fetchone() is not None

        return await self._database.read(job)

    async def recorded_steps(self, run_id: str, plan_hash: str) -> dict[str, VerifiedStep]:
        """Read the steps of a plan as they were verified, by uid, whether it may run or not."""

        def job(connection: sqlite3.Connection) -> str:
            query = "SELECT checked FROM plans WHERE run_id = ? AND plan_hash = ?"
            row = connection.execute(query, (run_id, plan_hash)).fetchone()
            return str(row[0]) if row else "[]"

        return _steps(await self._database.read(job))

    async def runnable(self, run_id: str, plan_hash: str) -> RunnablePlan:
        """Read a plan that was verified and, where a person had to approve it, approved as it was shown.

        The card of its gate, the card that each approval was given to, and the card on record are the same.
        Before somebody has decided, its steps are those that are read first.
        """

        def job(connection: sqlite3.Connection) -> sqlite3.Row | None:
            row: sqlite3.Row | None = connection.execute(
                "SELECT p.kind, p.checked, p.gate_id, p.card, g.status, g.shown, g.card_hash, g.approvals"
                " FROM plans p LEFT JOIN gates g ON g.gate_id = p.gate_id AND g.run_id = p.run_id"
                " AND g.shown_hash = p.plan_hash WHERE p.run_id = ? AND p.plan_hash = ?",
                (run_id, plan_hash),
            ).fetchone()
            return row

        riding = self._riding.get((run_id, plan_hash))
        row = await self._database.read(job, behind=())
        if riding and (row is None or row["gate_id"] is None):
            return riding
        if riding:  # it was asked for before: what was approved counts
            row = await self._database.read(job)
        if row is None:
            return RunnablePlan()
        if row["gate_id"] is None:
            return RunnablePlan(row["kind"], _steps(row["checked"]))
        if row["status"] in (None, "open"):
            return RunnablePlan(row["kind"], _steps(row["checked"], reads=True))
        if row["status"] != "approved" or not _approved_as_shown(row):
            return RunnablePlan(row["kind"])
        return RunnablePlan(row["kind"], _steps(row["checked"]), approved=True)


def _approved_as_shown(row: sqlite3.Row) -> bool:
    """Compare the card on record with the one approved."""
    card = sha256(json.loads(row["card"] or "null"))
    approvals = json.loads(row["approvals"] or "[]")
    card_now = sha256(json.loads(row["shown"]))
    return card == card_now == row["card_hash"] and all(
        approval.get("card") == card for approval in approvals
    )


def _steps(checked: str, *, reads: bool = False) -> dict[str, VerifiedStep]:
    steps = [VerifiedStep.model_validate(entry) for entry in json.loads(checked)]
    return {step.uid: step for step in steps if step.read_first or not reads}
