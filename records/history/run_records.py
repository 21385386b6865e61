"""What is on record of one run: its row, its events from one on, its steps, effects and gates."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planwright.domain.hashing import whole_json
from planwright.domain.plan import Plan
from planwright.domain.results import StepResult
from planwright.presentation.rows import Report
from planwright.records.history.rows import Row, first_of, rows_of
from planwright.records.runs import Run, run_of

_RUN = """SELECT * FROM runs WHERE rowid = (SELECT max(rowid) FROM runs
    WHERE (:tenant IS NULL OR tenant = :tenant) AND (run_id = :id OR thread_id = :id))"""
_EVENTS = (
    "SELECT seq, ts, run_id, thread_id, type, data FROM journal WHERE run_id = ? AND seq > ? ORDER BY seq"
)
_OF_TYPE = "SELECT data FROM journal WHERE run_id = ? AND type = ? ORDER BY seq"
_NEWEST = """SELECT data FROM journal WHERE run_id = ? AND type = ? AND key LIKE ?
    ORDER BY seq DESC LIMIT 1"""
_VERSIONS = """SELECT json_extract(data, '$.versions') FROM journal WHERE run_id = ?
    AND type IN ('task_queued', 'run_start', 'versions_changed') ORDER BY seq DESC LIMIT 1"""
_STEPS = "SELECT uid, result FROM steps WHERE run_id = ? ORDER BY rowid"
_STEP = "SELECT result FROM steps WHERE run_id = ? AND uid = ?"
_SENT = "SELECT args FROM effects WHERE run_id = ? AND step_uid = ? ORDER BY rowid DESC LIMIT 1"
_EFFECTS = """SELECT key, step_uid, attempt, capability, effect, args, status, result, error,
    intended_at, ended_at
    FROM effects WHERE run_id = ? ORDER BY rowid"""
_GATES = """SELECT gate_id, kind, status, shown, shown_hash, requested_at, expires_at, decided_at,
    decided_by, channel, reason, approvals FROM gates WHERE run_id = ? ORDER BY rowid"""
_PLANS = "SELECT plan FROM plans WHERE run_id = ? AND {which} ORDER BY rowid DESC LIMIT 1"
_VERDICTS = "SELECT content, revision, at FROM verdicts WHERE run_id = ? ORDER BY rowid"
_SPENT = """SELECT substr(key, 10, instr(substr(key, 10), '.') - 1) AS uid, count(*) AS calls,
    sum(CAST(json_extract(data, '$.input_tokens') AS INTEGER)
    + CAST(json_extract(data, '$.output_tokens') AS INTEGER)) AS tokens,
    sum(json_extract(data, '$.cost')) AS cost
    FROM journal WHERE run_id = ? AND type = 'llm_call' AND key LIKE 'llm_call:step_%.%' GROUP BY uid"""
_SOURCE = "SELECT source_run, undo FROM forks WHERE run_id = ? AND source_run <> ''"
_DERIVED = """SELECT f.run_id, f.undo, r.status FROM forks f JOIN runs r USING (run_id)
    WHERE f.source_run = ? ORDER BY r.rowid"""


@dataclass(frozen=True)
class RunPulse:
    """What has happened in a run since an event of it."""

    run: Run
    """The run as its row says now."""
    events: Sequence[Row]
    """Its events after the one that was named, in order."""


@dataclass(frozen=True)
class RunRecord:
    """What is on record of a run beside its events."""

    steps: Mapping[str, Row]
    """Results of the steps that have ended, by uid."""
    effects: Sequence[Row]
    """Effects, in the order they began."""
    gates: Sequence[Row]
    """Gates, in the order they opened."""
    source: Row | None
    """Run that it was forked from, or that it undoes; None for neither."""
    derived: Sequence[Row]
    """Runs that were forked from it, or that undo it."""
    spent: Mapping[str, Row] = field(default_factory=dict)
    """Use of models by steps and calls that a model does, by uid."""


def find_row(connection: sqlite3.Connection, which: str) -> Row | None:
    """Find the row of a run by its id, or of the newest of a thread, whatever its tenant is."""
    row = connection.execute(_RUN, {"tenant": None, "id": which}).fetchone()
    return None if row is None else dict(row)


def run_named(connection: sqlite3.Connection, which: str, tenant: str) -> Run | None:
    """Find a run of a tenant by its id, or the newest of a thread."""
    row = connection.execute(_RUN, {"tenant": tenant, "id": which}).fetchone()
    return None if row is None else run_of(row)


def run_pulse(connection: sqlite3.Connection, run_id: str, after: int = 0) -> RunPulse | None:
    """Read the row of a run and its events after one of them; None where there is no such run."""
    row = connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    return None if row is None else RunPulse(run_of(row), run_events(connection, run_id, after))


def run_events(connection: sqlite3.Connection, run_id: str, after: int = 0) -> list[Row]:
    """Read the events of a run after one of them, in order."""
    return [{"v": 1, **event} for event in rows_of(connection, _EVENTS, (run_id, after))]


def data_of(connection: sqlite3.Connection, run_id: str, type_: str) -> list[Report]:
    """Read what the events of one type tell, in order."""
    return [row["data"] for row in rows_of(connection, _OF_TYPE, (run_id, type_))]


def newest_data(connection: sqlite3.Connection, run_id: str, type_: str, key: str = "%") -> Report | None:
    """Read what the newest event of a type tells; None where there is none. `key` is a pattern of LIKE."""
    row = first_of(connection, _NEWEST, (run_id, type_, key))
    return None if row is None else row["data"]


def versions_of(connection: sqlite3.Connection, run_id: str) -> dict[str, str]:
    """Read what a run went by last: hashes by the name of the part; empty where none are on record."""
    row = connection.execute(_VERSIONS, (run_id,)).fetchone()
    versions: dict[str, str] = json.loads(row[0]) if row and row[0] else {}
    return versions


def run_record(connection: sqlite3.Connection, run_id: str) -> RunRecord:
    """Read what is on record of a run beside its events."""
    return RunRecord(
        {row["uid"]: whole_json(StepResult, row["result"]) for row in connection.execute(_STEPS, (run_id,))},
        list(rows_of(connection, _EFFECTS, (run_id,))),
        list(rows_of(connection, _GATES, (run_id,))),
        first_of(connection, _SOURCE, (run_id,)),
        list(rows_of(connection, _DERIVED, (run_id,))),
        {row["uid"]: row for row in rows_of(connection, _SPENT, (run_id,))},
    )


def verdicts_of(connection: sqlite3.Connection, run_id: str) -> list[Report]:
    """Read the verdicts over a run, oldest first."""
    rows = rows_of(connection, _VERDICTS, (run_id,))
    return [{**json.loads(row["content"]), "revision": row["revision"], "at": row["at"]} for row in rows]


def recorded_plan(connection: sqlite3.Connection, run_id: str, plan_hash: str = "") -> Report | None:
    """Read a plan of a run by its hash, or its newest; None where it is not on record."""
    which, place = ("plan_hash = ?", (run_id, plan_hash)) if plan_hash else ("kind = 'plan'", (run_id,))
    row = first_of(connection, _PLANS.format(which=which), place)
    return None if row is None else whole_json(Plan, row["plan"])


def step_record(connection: sqlite3.Connection, run_id: str, uid: str) -> tuple[Report, Report | None]:
    """Read the result of a step, and what was sent for it; None where nothing was."""
    step, sent = first_of(connection, _STEP, (run_id, uid)), first_of(connection, _SENT, (run_id, uid))
    return step["result"] if step else {}, sent["args"] if sent else None
