"""How far a session is: one envelope of the same form for whoever watches it, from its records alone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.records.budget_usage import run_usage
from planwright.settings.agents import RunBudgetSettings

_PLAN = "SELECT checked FROM plans WHERE run_id = ? AND kind = 'plan' ORDER BY rowid DESC LIMIT 1"


class Progress(BaseModel):
    """How far a run is, at one moment."""

    model_config = ConfigDict(frozen=True)
    progress_id: str
    """Id of the envelope: of its run, and of the newest event that it knows."""
    run_id: str
    """Id of the run."""
    emitted_at: datetime
    """When it was made, in UTC."""
    current_step: str | None
    """Id of the first step that has not ended, in the order of the plan; None where there is none."""
    completed: int
    """How many steps of the plan have ended."""
    total: int
    """How many steps the plan has; 0 before there is one."""
    budget_remaining: Mapping[str, float | None]
    """What is left of tokens, tool_calls, cost (dollars), wall_clock_s; None where there is no limit."""
    awaiting_gate: str | None
    """Id of the oldest open gate; None where nobody is asked."""


def read_progress(
    connection: sqlite3.Connection, run_id: str, limits: RunBudgetSettings, at: datetime
) -> Progress:
    """Read how far a run is; `limits` are those in force for it."""
    row = connection.execute(_PLAN, (run_id,)).fetchone()
    steps = [(entry["uid"], entry["step"]["id"]) for entry in json.loads(row[0])] if row else []
    ended = {uid for (uid,) in connection.execute("SELECT uid FROM steps WHERE run_id = ?", (run_id,))}
    query = "SELECT gate_id FROM gates WHERE run_id = ? AND status = 'open' ORDER BY rowid LIMIT 1"
    gate = connection.execute(query, (run_id,)).fetchone()
    query = "SELECT coalesce(max(seq), 0) FROM journal WHERE run_id = ?"
    seq = connection.execute(query, (run_id,)).fetchone()[0]
    return Progress(
        progress_id=f"{run_id.replace('run_', 'prog_', 1)}_{seq:04}",
        run_id=run_id,
        emitted_at=at,
        current_step=next((step_id for uid, step_id in steps if uid not in ended), None),
        completed=sum(uid in ended for uid, _ in steps),
        total=len(steps),
        budget_remaining=_left(connection, run_id, limits, at),
        awaiting_gate=gate[0] if gate else None,
    )


def _left(
    connection: sqlite3.Connection, run_id: str, limits: RunBudgetSettings, at: datetime
) -> dict[str, float | None]:
    """Say what is left of each limit; what is used beyond one leaves nothing."""
    spent = run_usage(connection, run_id).spent(at.timestamp())
    query = "SELECT coalesce(sum(seconds), 0) FROM work_times WHERE run_id = ?"
    seconds = connection.execute(query, (run_id,)).fetchone()[0]
    used = {"tokens": spent.tokens, "tool_calls": spent.calls, "cost": spent.cost / MICRO_CENTS_PER_DOLLAR}
    used["wall_clock_s"] = round(seconds, 1)
    most = {unit: getattr(limits, unit) for unit in used}
    return {unit: None if most[unit] is None else max(0, float(most[unit]) - used[unit]) for unit in used}
