"""The work of a run on record: each effect, the step or call that had it, and who decided over that."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from planwright.domain.envelope import DecidedBy, EffectRecord
from planwright.domain.risk import Effect, Risk
from planwright.records.effects.kept_effects import Call, DoneEffect, done_before_call, done_beside
from planwright.store.database import Database
from planwright.store.engines.engine import Question, ask_ahead

_PLANS = """SELECT p.kind, p.checked, coalesce(json_extract(p.plan, '$.plan_id'), '') AS plan_id,
    g.status = 'approved' AS approved FROM plans p
    LEFT JOIN gates g ON g.gate_id = p.gate_id AND g.run_id = p.run_id
    WHERE p.run_id = ? ORDER BY p.rowid"""
_GATES = "SELECT step_uid, status, channel FROM gates WHERE run_id = ? AND kind = 'step'"
# An effect whose record counts for a call of a later plan is that call's work, too; nobody is asked again.
_EFFECTS = """SELECT key, step_uid, capability, status, kept FROM (
    SELECT key, step_uid, capability, status, 0 AS kept, rowid AS n FROM effects WHERE run_id = :run UNION ALL
    SELECT e.key, k.uid, e.capability, e.status, 1, e.rowid FROM kept_effects k JOIN effects e USING (key)
    WHERE k.run_id = :run AND k.uid <> e.step_uid) every_one ORDER BY n"""
_BY_RULE = ("rule", "policy")
_PART_OF = {"chain": "chain_", "alternative": "instead_"}  # what stands before the uid in the id of the plan


@dataclass(frozen=True)
class RecordedCall:
    """One verified step or call: its name, whose part it is, and whether somebody had to be asked."""

    uid: str
    """Uid of the step or call."""
    id: str
    """Its id in the plan; for a call of a model `lane.turn.index`."""
    capability: str
    """Name of the capability; "" for a step that a model does."""
    effect: Effect
    """Effect class of the call."""
    risk: Risk
    """Risk of the call."""
    needed: bool
    """Whether somebody had to be asked."""
    tainted: bool
    """Whether its arguments may hold what others wrote."""
    gated: bool
    """Whether it had a gate of its own."""
    gate_subject: str
    """What its gate is about: its uid, or the reply that asked for several."""
    above: str
    """Lane, chain or step that it belongs to, by uid; "" for a step of the plan."""
    approved: bool
    """Whether a plan that shows it was approved."""


@dataclass(frozen=True)
class RunWork:
    """All calls and effects of a run, as they are on record."""

    calls: Mapping[str, RecordedCall] = field(default_factory=dict)
    """All verified steps and calls, by uid."""
    effects: tuple[EffectRecord, ...] = ()
    """All effects, in the order in which they were begun."""
    rejected: frozenset[str] = frozenset()
    """What a person said no to, or nobody answered in time, by the subject of the gate."""

    def under(self, uid: str) -> tuple[EffectRecord, ...]:
        """List the effects of a step or lane: its own, and those of its calls, chains and sub-agents."""
        return tuple(effect for effect in self.effects if self._belongs(effect.uid, uid))

    def by_id(self, lane: str) -> dict[str, RecordedCall]:
        """Map the calls of a lane by their place in it, `lane.turn.index`."""
        return {call.id: call for call in self.calls.values() if call.above == lane}

    def _belongs(self, uid: str, to: str) -> bool:
        seen: set[str] = set()
        while uid and uid not in seen:
            if uid == to:
                return True
            seen.add(uid)
            uid = self.calls[uid].above if uid in self.calls else ""
        return False


class WorkRecords:
    """Read what was done in a run, and on whose word."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_run(self, run_id: str) -> RunWork:
        """Read all calls and effects of a run in one transaction."""
        return await self._database.read(lambda c: work_of(c, run_id))

    async def done_beside(self, run_id: str, uids: Collection[str]) -> list[DoneEffect]:
        """List what a run has done that belongs to none of the steps `uids`."""
        return await self._database.read(lambda c: done_beside(c, run_id, uids))

    async def done_before(self, call: Call) -> list[DoneEffect]:
        """List what a run has done by the capability of a call, under an earlier plan or try."""
        return await self._database.read(lambda c: done_before_call(c, call))


def work_questions(run_id: str) -> Iterator[Question]:
    """List what `work_of` reads."""
    yield from ((query, (run_id,)) for query in (_PLANS, _GATES))
    yield _EFFECTS, {"run": run_id}


def work_of(connection: sqlite3.Connection, run_id: str) -> RunWork:
    """Read all calls and effects of a run, in the transaction that is open."""
    ask_ahead(connection, *work_questions(run_id))
    calls: dict[str, RecordedCall] = {}
    for kind, checked, plan_id, approved in connection.execute(_PLANS, (run_id,)).fetchall():
        for entry in json.loads(checked):
            before = calls.get(entry["uid"])
            agreed = bool(approved) or (before is not None and before.approved)
            calls[entry["uid"]] = _call(entry, kind, plan_id, approved=agreed)
    gates = {row[0]: (row[1], row[2]) for row in connection.execute(_GATES, (run_id,)).fetchall()}
    rows = connection.execute(_EFFECTS, {"run": run_id}).fetchall()
    rejected = frozenset(uid for uid, (status, _) in gates.items() if status in ("rejected", "expired"))
    return RunWork(calls, tuple(_effect(row, calls, gates) for row in rows), rejected)


def _call(entry: dict[str, Any], kind: str, plan_id: str, *, approved: bool) -> RecordedCall:
    id_ = entry["step"]["id"]
    lane = id_.rpartition(".")[0].rpartition(".")[0] if kind == "calls" else ""
    gated = entry["gated"]
    return RecordedCall(
        uid=entry["uid"],
        id=id_,
        capability=entry["step"].get("capability") or "",
        effect=entry["effect"],
        risk=entry["risk"],
        needed=gated or entry.get("asks", False),
        tainted=entry.get("tainted", False),
        gated=gated,
        gate_subject=entry.get("asked_with") or entry["uid"],
        above=lane or (plan_id.removeprefix(_PART_OF[kind]) if kind in _PART_OF else ""),
        approved=approved,
    )


def _effect(
    row: sqlite3.Row, calls: Mapping[str, RecordedCall], gates: Mapping[str, tuple[str, str | None]]
) -> EffectRecord:
    call = calls.get(row["step_uid"])
    known = {"key": row["key"], "uid": row["step_uid"], "capability": row["capability"]}
    if call is None:
        return EffectRecord(**known, status=row["status"], known=False)
    return EffectRecord(
        **known,
        status=row["status"],
        decided=_decided(call, gates),
        needed=call.needed and not row["kept"],
        tainted=call.tainted and not row["kept"],
        risk=call.risk,
    )


def _decided(call: RecordedCall, gates: Mapping[str, tuple[str, str | None]]) -> DecidedBy:
    """Say who let a call pass: its own gate, or the approval of its plan where it has none."""
    status, channel = gates.get(call.gate_subject, ("", None))
    if status == "approved":
        return "rule" if channel in _BY_RULE else "person"
    return "person" if call.approved and not call.gated else ""
