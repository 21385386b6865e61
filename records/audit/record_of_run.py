"""Make the DecisionRecord of a run out of its rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from pydantic import JsonValue

from planwright.domain.hashing import sha256, trace_digest
from planwright.domain.results import RunVerdict
from planwright.records.audit.decision_record import (
    DecisionRecord,
    RecordedApproval,
    RecordedEvidence,
    RecordedRule,
)
from planwright.records.effects.work_records import work_of, work_questions
from planwright.store.engines.engine import Question

Data = dict[str, JsonValue]
_RUN = "SELECT * FROM runs WHERE run_id = ?"
_EVENTS = "SELECT data FROM journal WHERE run_id = ? AND type = ? ORDER BY seq"
_STEPS = "SELECT uid, step_id, result FROM steps WHERE run_id = ? AND status = 'completed' ORDER BY rowid"
_GATES = "SELECT * FROM gates WHERE run_id = ? ORDER BY rowid"
_PLANS = "SELECT checked FROM plans WHERE run_id = ? ORDER BY rowid"
_VERDICT = "SELECT content FROM verdicts WHERE run_id = ? ORDER BY rowid DESC LIMIT 1"
_TYPES = ("run_start", "versions_changed", "decision_taken", "loop_guard")
_CONTROLS = ("tenant", "agent", "modes", "dry_run", "planning_mode", "provider")


def questions_of(run_id: str) -> Iterator[Question]:
    """List what `record_of` reads."""
    yield from ((query, (run_id,)) for query in (_RUN, _STEPS, _GATES, _PLANS, _VERDICT))
    yield from ((_EVENTS, (run_id, type_)) for type_ in _TYPES)
    yield from work_questions(run_id)


def record_of(connection: sqlite3.Connection, run_id: str) -> DecisionRecord:
    """Read the rows of a run, and put its record together; the same rows make the same record."""
    run = connection.execute(_RUN, (run_id,)).fetchone()
    options = json.loads(run["context"])
    origins, changed, decisions, trips = (_events(connection, run_id, type_) for type_ in _TYPES)
    origins = origins + changed
    versions = origins[-1].get("versions") if origins else None
    return DecisionRecord(
        record_id=f"rec_{run_id.removeprefix('run_')}",
        run_id=run_id,
        thread_id=run["thread_id"],
        tenant=run["tenant"],
        trace_id=trace_digest(run_id)[:16].hex(),
        outcome=run["status"],
        decisions=tuple(decisions),
        evidence_refs=tuple(_evidence(connection, run_id)),
        approvals=tuple(_approvals(connection, run_id)),
        controls_active={name: options.get(name) for name in _CONTROLS},
        policy_decisions=tuple(_rules(connection, run_id)),
        effects=work_of(connection, run_id).effects,
        verdict=_verdict(connection, run_id),
        loop_guard_trips=len(trips),
        versions={str(k): str(v) for k, v in versions.items()} if isinstance(versions, dict) else {},
    )


def _events(connection: sqlite3.Connection, run_id: str, type_: str) -> list[Data]:
    return [json.loads(row[0]) for row in connection.execute(_EVENTS, (run_id, type_))]


def _evidence(connection: sqlite3.Connection, run_id: str) -> Iterator[RecordedEvidence]:
    for uid, step_id, text in connection.execute(_STEPS, (run_id,)):
        result = json.loads(text)
        yield RecordedEvidence(
            uid=uid, step_id=step_id, capability=result["capability"], result_hash=sha256(result)
        )


def _approvals(connection: sqlite3.Connection, run_id: str) -> Iterator[RecordedApproval]:
    for row in connection.execute(_GATES, (run_id,)):
        people = [approval["by"] for approval in json.loads(row["approvals"] or "[]")]
        yield RecordedApproval(
            gate_id=row["gate_id"],
            kind=row["kind"],
            status=row["status"],
            approvers=tuple(people or ([row["decided_by"]] if row["decided_by"] else ())),
            channel=row["channel"] or "",
            frozen_hash=row["card_hash"] or row["shown_hash"],
        )


def _rules(connection: sqlite3.Connection, run_id: str) -> Iterator[RecordedRule]:
    for (checked,) in connection.execute(_PLANS, (run_id,)):
        for entry in json.loads(checked):
            if answer := entry.get("policy"):
                name = entry["step"].get("capability") or "agent"
                yield RecordedRule(uid=entry["uid"], capability=name, answer=answer)


def _verdict(connection: sqlite3.Connection, run_id: str) -> RunVerdict | None:
    row = connection.execute(_VERDICT, (run_id,)).fetchone()
    return None if row is None else RunVerdict.model_validate_json(row[0])
