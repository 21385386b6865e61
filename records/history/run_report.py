"""All that is recorded of one run, as `planwright show --json` prints it."""

from __future__ import annotations

import json
import sqlite3

from planwright.presentation.rows import Report
from planwright.records.consent.gate import answer_hash
from planwright.records.effects.doubts import doubts_of
from planwright.records.history.interrupted import status_of
from planwright.records.history.rows import Row
from planwright.records.history.run_records import (
    RunRecord,
    data_of,
    newest_data,
    recorded_plan,
    run_record,
    verdicts_of,
)

_RUN = "run_id thread_id tenant status paused_for paused_why request answer started_at ended_at".split()
_GATE = "gate_id kind status expires_at decided_by channel reason".split()
_EFFECT = "key capability effect args status error".split()


def run_report(connection: sqlite3.Connection, run: Row, *, held: bool) -> Report:
    """Gather all that is recorded of a run; `held` says whether a process works on it."""
    run_id = str(run["run_id"])
    record = run_record(connection, run_id)
    verified = newest_data(connection, run_id, "plan_verified")  # a plan that is only shown cannot be run
    verdicts = verdicts_of(connection, run_id)
    return {
        **{name: run[name] for name in _RUN},
        "status": status_of(run["status"], held=held),
        "answer": run["answer"] or (run["paused_why"] if run["status"] == "budget_exceeded" else None),
        "answer_value": (newest_data(connection, run_id, "answer_value") or {}).get("value"),
        "agent": json.loads(run["context"]).get("agent"),
        **_source(record),
        "plan": recorded_plan(connection, run_id) or (verified or {}).get("plan"),
        "verdict": newest_data(connection, run_id, "verdict"),
        "verdicts": verdicts,
        "gates": [_gate(row) for row in record.gates],
        "steps": list(record.steps.values()),
        "effects": [{name: row[name] for name in _EFFECT} for row in record.effects],
        "in_doubt": [doubt.model_dump(mode="json") for doubt in doubts_of(connection, run_id)],
        "routed": data_of(connection, run_id, "model_routed"),
        "failovers": data_of(connection, run_id, "failover"),
        "proposed": data_of(connection, run_id, "memory_proposed"),
        "usage": newest_data(connection, run_id, "budget_update", "budget_update:run"),
        "estimated": (newest_data(connection, run_id, "run_end") or {}).get("estimated"),
    }


def _gate(row: Row) -> Report:
    approvals = [str(approval["by"]) for approval in row["approvals"] or ()]
    plan_hash = answer_hash(row["kind"], row["shown"], row["shown_hash"])
    return {**{name: row[name] for name in _GATE}, "plan_hash": plan_hash, "approvals": approvals}


def _source(record: RunRecord) -> Report:
    """Tell which run a run was forked from or undoes; and which runs were begun to undo it."""
    source = record.source or {"source_run": None, "undo": 0}
    undone_by = [{name: row[name] for name in ("run_id", "status")} for row in record.derived if row["undo"]]
    return {"forked_from": source["source_run"], "undo": bool(source["undo"]), "undone_by": undone_by}
