"""What differs between two runs, by their records: one line each, the gravest first."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from planwright.domain.plan import Plan
from planwright.domain.plan_diff import changes
from planwright.records.audit.decision_record import DecisionRecord
from planwright.records.audit.differences import first_difference
from planwright.records.audit.record_of_run import record_of
from planwright.records.history.run_outcomes import step_ends
from planwright.records.history.run_records import recorded_plan

OWN = frozenset(("uid", "seconds", "key", "blob", "args_blob", "kept_from", "envelope"))
"""Fields of results and effects that differ between any two runs."""


def diff_runs(connection: sqlite3.Connection, before: str, after: str) -> list[str]:
    """Compare outcome, versions, plan, results, effects, answers at gates, and verdict of two runs."""
    old, new = (record_of(connection, run_id) for run_id in (before, after))
    lines = [f"outcome: {old.outcome}, and {new.outcome}"] if old.outcome != new.outcome else []
    for name in dict.fromkeys([*old.versions, *new.versions]):
        if old.versions.get(name) != new.versions.get(name):
            lines.append(f"another version of {name}")
    plans = _plan(connection, before), _plan(connection, after)
    if plans[0] and plans[1]:
        lines += [f"plan: {line}" for line in changes(plans[0], plans[1])]
    elif plans[0] or plans[1]:
        lines.append(f"plan: only the {'first' if plans[0] else 'second'} run has one")
    lines += _results(connection, before, after)
    sides = [_ruled(record) for record in (old, new)]
    differences = (first_difference(sides[0][name], sides[1][name], name) for name in sides[0])
    return [*lines, *filter(None, differences)]


def _ruled(record: DecisionRecord) -> dict[str, object]:
    """Say what was done in a run, on whose word, and how it was judged, without ids."""
    verdict = record.verdict
    return {
        "effects": [[effect.capability, effect.status, effect.decided] for effect in record.effects],
        "gates": [[gate.kind, gate.status, list(gate.approvers)] for gate in record.approvals],
        "verdict": [verdict.verdict, verdict.reason] if verdict else None,
    }


def _plan(connection: sqlite3.Connection, run_id: str) -> Plan | None:
    plan = recorded_plan(connection, run_id)
    return None if plan is None else Plan.model_validate(plan)


def _results(connection: sqlite3.Connection, before: str, after: str) -> Iterator[str]:
    """Compare how the steps of the same id ended."""
    old, new = (_ends(connection, run_id) for run_id in (before, after))
    for step_id in dict.fromkeys([*old, *new]):
        if step_id not in old or step_id not in new:
            yield f"step {step_id}: only in the {'first' if step_id in old else 'second'} run"
        elif difference := first_difference(old[step_id], new[step_id], f"step {step_id}"):
            yield difference


def _ends(connection: sqlite3.Connection, run_id: str) -> dict[str, dict[str, object]]:
    return {
        step_id: {name: value for name, value in result.items() if name not in OWN}
        for step_id, result in step_ends(connection, run_id).items()
    }
