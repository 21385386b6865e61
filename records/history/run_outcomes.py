"""How runs came out: what is read to judge them again, to count them, and to hold them against each other."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter

from planwright.domain.hashing import whole_json
from planwright.domain.results import StepResult
from planwright.presentation.rows import Report
from planwright.records.history.rows import Row, rows_of

ALL = 1 << 62  # more than there can be
_COUNTS = {
    "runs": "SELECT status, count(*) FROM runs GROUP BY tenant, status",
    "gates": "SELECT kind, count(*) FROM gates WHERE status = 'open' GROUP BY kind",
    "effects": "SELECT status, count(*) FROM effects GROUP BY tenant, status",
}
_ENDED = """SELECT run_id, status, context, started_at FROM runs
    WHERE ended_at IS NOT NULL AND started_at >= ? AND (? IS NULL OR tenant = ?)
    ORDER BY rowid DESC LIMIT ?"""
_VERIFIED = """SELECT count(*), coalesce(sum(json_extract(data, '$.outcome') = 'ok'), 0) FROM journal
    WHERE run_id = ? AND type = 'plan_verified'"""
_MODEL = """SELECT json_extract(data, '$.provider') || '/' || json_extract(data, '$.model') FROM journal
    WHERE run_id = ? AND type = 'llm_call' ORDER BY seq LIMIT 1"""
_USED = """SELECT coalesce(sum(tokens), 0), coalesce(sum(cost), 0), coalesce(sum(cost IS NULL), 0)
    FROM usage WHERE run_id = ? AND kind = 'model'"""
_WORKED = "SELECT coalesce(sum(seconds), 0) FROM work_times WHERE run_id = ?"
_ESCALATIONS = "SELECT status FROM gates WHERE run_id = ? AND kind = 'escalation' ORDER BY rowid"
_UNDONE = "SELECT 1 FROM forks WHERE source_run = ? AND undo = 1"
_TURNS = """SELECT max(CAST(json_extract(data, '$.turn') AS INTEGER)) FROM journal
    WHERE run_id = ? AND type = 'progress' GROUP BY json_extract(data, '$.lane')"""
_APPROVED = """SELECT p.plan, p.checked, r.request, r.context FROM plans p
    JOIN gates g ON g.gate_id = p.gate_id JOIN runs r ON r.run_id = p.run_id
    WHERE p.run_id = ? AND p.kind = 'plan' AND g.status = 'approved' ORDER BY p.rowid DESC LIMIT 1"""
_PLAN = "SELECT * FROM plans WHERE run_id = ? AND plan_hash = ?"


def ended_runs(
    connection: sqlite3.Connection, since: str = "", tenant: str | None = None, most: int = ALL
) -> list[Row]:
    """List runs that have ended, the newest first: `run_id`, `status`, `context`, `started_at`."""
    return list(rows_of(connection, _ENDED, (since, tenant, tenant, most)))


def run_ids(connection: sqlite3.Connection) -> list[str]:
    """List the ids of all runs, the oldest first."""
    return [str(row[0]) for row in connection.execute("SELECT run_id FROM runs ORDER BY rowid")]


def counts_of_store(connection: sqlite3.Connection) -> dict[str, dict[str, int]]:
    """Count runs and effects by their status, and open gates by their kind."""
    counts: dict[str, dict[str, int]] = {}
    for name, query in _COUNTS.items():
        counts[name] = Counter()
        for status, count in connection.execute(query):
            counts[name][status] += count
    return counts


def open_run_count(connection: sqlite3.Connection) -> int:
    """Count the runs that have not ended."""
    return int(connection.execute("SELECT count(*) FROM runs WHERE ended_at IS NULL").fetchone()[0])


def verified_plans(connection: sqlite3.Connection, run_id: str) -> tuple[int, int]:
    """Count the plans of a run that were verified, and those of them that passed."""
    plans, passed = connection.execute(_VERIFIED, (run_id,)).fetchone()
    return int(plans), int(passed)


def step_results(connection: sqlite3.Connection, run_id: str) -> list[tuple[str, StepResult]]:
    """List the results of the steps of a run, by their status, without what was left out."""
    query = "SELECT status, result FROM steps WHERE run_id = ? AND status <> 'skipped' ORDER BY rowid"
    return [
        (status, StepResult.model_validate_json(text))
        for status, text in connection.execute(query, (run_id,))
    ]


def step_ends(connection: sqlite3.Connection, run_id: str) -> dict[str, Report]:
    """Read how the steps of a run ended, by their ids."""
    query = "SELECT step_id, result FROM steps WHERE run_id = ? ORDER BY rowid"
    return {id_: whole_json(StepResult, text) for id_, text in connection.execute(query, (run_id,))}


def result_text(connection: sqlite3.Connection, run_id: str, uid: str) -> str | None:
    """Read the result of a step as it is on record; None where it has none."""
    query = "SELECT result FROM steps WHERE run_id = ? AND uid = ?"
    row = connection.execute(query, (run_id, uid)).fetchone()
    return None if row is None else str(row[0])


def first_model(connection: sqlite3.Connection, run_id: str) -> str | None:
    """Name the model that a run called first; None for none."""
    row = connection.execute(_MODEL, (run_id,)).fetchone()
    return None if row is None else str(row[0])


def model_use(connection: sqlite3.Connection, run_id: str) -> tuple[int, int, int]:
    """Sum up the tokens and micro-cents of the models of a run, and count their calls without a price."""
    tokens, cost, unpriced = connection.execute(_USED, (run_id,)).fetchone()
    return int(tokens), int(cost), int(unpriced)


def seconds_of_work(connection: sqlite3.Connection, run_id: str) -> float:
    """Sum up how long processes worked on a run; waiting for people does not count."""
    return float(connection.execute(_WORKED, (run_id,)).fetchone()[0])


def escalation_answers(connection: sqlite3.Connection, run_id: str) -> tuple[str, ...]:
    """List the status of each gate of a run that asked about a failure."""
    return tuple(str(row[0]) for row in connection.execute(_ESCALATIONS, (run_id,)))


def verified_steps(connection: sqlite3.Connection, run_id: str) -> list[tuple[str, Report]]:
    """List what a run has planned or called in a loop, as it was verified, by the kind of its plan."""
    query = "SELECT kind, checked FROM plans WHERE run_id = ? ORDER BY rowid"
    rows = connection.execute(query, (run_id,))
    return [(kind, entry) for kind, checked in rows for entry in json.loads(checked)]


def plan_row(connection: sqlite3.Connection, run_id: str, plan_hash: str) -> sqlite3.Row | None:
    """Read the row of a plan as it is on record; None where there is none."""
    row: sqlite3.Row | None = connection.execute(_PLAN, (run_id, plan_hash)).fetchone()
    return row


def approved_plan(connection: sqlite3.Connection, run_id: str) -> sqlite3.Row | None:
    """Read the newest plan of a run that a person has approved, with its request; None for none."""
    row: sqlite3.Row | None = connection.execute(_APPROVED, (run_id,)).fetchone()
    return row


def verdict_rows(connection: sqlite3.Connection, run_id: str) -> list[sqlite3.Row]:
    """Read the verdicts over a run as they are on record, oldest first."""
    query = "SELECT * FROM verdicts WHERE run_id = ? ORDER BY rowid"
    return connection.execute(query, (run_id,)).fetchall()


def gate_decision(connection: sqlite3.Connection, run_id: str, gate_id: str) -> tuple[str, str] | None:
    """Read how a gate of a run was decided, and by whom; None where there is no such gate."""
    query = "SELECT status, decided_by FROM gates WHERE gate_id = ? AND run_id = ?"
    row = connection.execute(query, (gate_id, run_id)).fetchone()
    return None if row is None else (row[0], row[1])


def was_undone(connection: sqlite3.Connection, run_id: str) -> bool:
    """Say whether a run was undone later."""
    return connection.execute(_UNDONE, (run_id,)).fetchone() is not None


def loop_turns(connection: sqlite3.Connection, run_id: str) -> tuple[int, ...]:
    """List the turns of each loop of a run, as its progress was told."""
    return tuple(int(row[0]) for row in connection.execute(_TURNS, (run_id,)) if row[0] is not None)
