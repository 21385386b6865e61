"""What is on record of one run: its row, its events from one on, its steps, effects and gates."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planwright.domain.hashing import whole_json
from planwright.domain.results import StepResult
from planwright.records.history.rows import Row
from planwright.records.runs import Run, run_of
from planwright.store.database import Database

_EVENTS = (
    "SELECT seq, ts, run_id, thread_id, type, data FROM journal WHERE run_id = ? AND seq > ? ORDER BY seq"
)
_STEPS = "SELECT uid, result FROM steps WHERE run_id = ? ORDER BY rowid"
_EFFECTS = """SELECT key, step_uid, attempt, capability, effect, args, status, result, error,
    intended_at, ended_at
    FROM effects WHERE run_id = ? ORDER BY rowid"""
_GATES = """SELECT gate_id, kind, status, shown, requested_at, expires_at, decided_at, decided_by, channel,
    reason, approvals FROM gates WHERE run_id = ? ORDER BY rowid"""
_SPENT = """SELECT substr(key, 10, instr(substr(key, 10), '.') - 1) AS uid, count(*) AS calls,
    sum(CAST(json_extract(data, '$.input_tokens') AS INTEGER)
    + CAST(json_extract(data, '$.output_tokens') AS INTEGER)) AS tokens,
    sum(json_extract(data, '$.cost')) AS cost
    FROM journal WHERE run_id = ? AND type = 'llm_call' AND key LIKE 'llm_call:step_%.%' GROUP BY uid"""
_SOURCE = "SELECT source_run, undo FROM forks WHERE run_id = ? AND source_run <> ''"
_DERIVED = """SELECT f.run_id, f.undo, r.status FROM forks f JOIN runs r USING (run_id)
    WHERE f.source_run = ? ORDER BY r.rowid"""
_JSON = frozenset(("data", "result", "args", "shown", "approvals"))


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


class RunHistory:
    """Reads of one run. A run of another tenant is not there."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, tenant: str, which: str) -> Run | None:
        """Find a run of a tenant by its id, or the newest of a thread."""
        query = (
            "SELECT * FROM runs WHERE rowid = (SELECT max(rowid) FROM runs"
            " WHERE tenant = :tenant AND (run_id = :id OR thread_id = :id))"
        )

        def job(connection: sqlite3.Connection) -> Run | None:
            row = connection.execute(query, {"tenant": tenant, "id": which}).fetchone()
            return None if row is None else run_of(row)

        return await self._database.read(job)

    async def pulse(self, run_id: str, after: int = 0) -> RunPulse | None:
        """Read the row of a run and its events after one of them; None where there is no such run."""

        def job(connection: sqlite3.Connection) -> RunPulse | None:
            row = connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            if row is None:
                return None
            events = [{"v": 1, **_read(event)} for event in connection.execute(_EVENTS, (run_id, after))]
            return RunPulse(run_of(row), events)

        return await self._database.read(job, behind=())

    async def records(self, run_id: str) -> RunRecord:
        """Read what is on record of a run beside its events."""

        def job(connection: sqlite3.Connection) -> RunRecord:
            source = connection.execute(_SOURCE, (run_id,)).fetchone()
            return RunRecord(
                {
                    row["uid"]: whole_json(StepResult, row["result"])
                    for row in connection.execute(_STEPS, (run_id,))
                },
                [_read(row) for row in connection.execute(_EFFECTS, (run_id,))],
                [_read(row) for row in connection.execute(_GATES, (run_id,))],
                None if source is None else dict(source),
                [dict(row) for row in connection.execute(_DERIVED, (run_id,))],
                {row["uid"]: dict(row) for row in connection.execute(_SPENT, (run_id,))},
            )

        return await self._database.read(job, behind=())


def _read(row: sqlite3.Row) -> Row:
    """Read a row, and what its columns hold as JSON."""
    return {
        name: json.loads(row[name]) if name in _JSON and row[name] else row[name]
        for name in tuple(row.keys())
    }
