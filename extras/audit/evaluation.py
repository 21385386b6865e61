"""What past runs say of an agent: how often plans pass and steps succeed, whom they ask, and their cost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Literal

from planwright.domain.results import StepResult
from planwright.domain.risk import highest_risk

By = Literal["all", "agent", "model", "week", "risk"]
_RUNS = (
    "SELECT run_id, status, context, started_at FROM runs WHERE ended_at IS NOT NULL {where} ORDER BY rowid"
)
_VERIFIED = """SELECT count(*), coalesce(sum(json_extract(data, '$.outcome') = 'ok'), 0) FROM journal
    WHERE run_id = ? AND type = 'plan_verified'"""
_STEPS = "SELECT status, result FROM steps WHERE run_id = ? AND status <> 'skipped'"
_MODEL = """SELECT json_extract(data, '$.provider') || '/' || json_extract(data, '$.model') FROM journal
    WHERE run_id = ? AND type = 'llm_call' ORDER BY seq LIMIT 1"""
_USED = """SELECT coalesce(sum(tokens), 0), coalesce(sum(cost), 0), coalesce(sum(cost IS NULL), 0)
    FROM usage WHERE run_id = ? AND kind = 'model'"""


@dataclass(frozen=True)
class RunCounts:
    """What is counted of runs; the counts of several are added up."""

    runs: int = 0
    """Runs that have ended."""
    plans: int = 0
    """Plans that were verified, whatever came of it."""
    plans_ok: int = 0
    """Plans that passed."""
    steps: int = 0
    """Steps that were begun."""
    steps_ok: int = 0
    """Steps that succeeded."""
    retried: int = 0
    """Steps that were tried more than once, or by another call."""
    recovered: int = 0
    """Those of them that succeeded."""
    escalated: int = 0
    """Runs in which a person was asked about a failure."""
    lanes: int = 0
    """Steps that an agent did in a lane of its own."""
    lanes_ok: int = 0
    """Those of them that succeeded."""
    replanned: int = 0
    """Runs that planned again."""
    safe: int = 0
    """Runs that were completed and accepted."""
    safe_seconds: float = 0
    """Seconds of work on those runs; waiting for people does not count."""
    tokens: int = 0
    """Tokens in and out."""
    cost: int = 0
    """Cost in micro-cents, where providers have prices."""
    unpriced: int = 0
    """Calls of models without a price, which the cost leaves out."""

    def __add__(self, other: RunCounts) -> RunCounts:
        both = {each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)}
        return RunCounts(**both)

    def rates(self) -> dict[str, float | None]:
        """Work out the shares, each from 0 to 1, and the means; None where there is nothing to divide by."""
        return {
            "plan_pass": _share(self.plans_ok, self.plans),
            "step_completion": _share(self.steps_ok, self.steps),
            "retry": _share(self.retried, self.steps),
            "recovery": _share(self.recovered, self.retried),
            "escalation": _share(self.escalated, self.runs),
            "lane_success": _share(self.lanes_ok, self.lanes),
            "replan": _share(self.replanned, self.runs),
            "safe_seconds": _share(self.safe_seconds, self.safe),
            "tokens_a_run": _share(self.tokens, self.runs),
            "cost_a_run": None if self.unpriced and not self.cost else _share(self.cost, self.runs),
        }


def counts_by(connection: sqlite3.Connection, by: By, since: str = "") -> dict[str, RunCounts]:
    """Count what ended runs did, by group; `since` is a day in ISO 8601, "" for all."""
    groups: dict[str, RunCounts] = {}
    where = "AND started_at >= ?" if since else ""
    rows = connection.execute(_RUNS.format(where=where), (since,) if since else ()).fetchall()
    for row in rows:
        name = group_of(connection, row, by)
        groups[name] = groups.get(name, RunCounts()) + counts_of(connection, row)
    return dict(sorted(groups.items()))


def counts_of(connection: sqlite3.Connection, run: sqlite3.Row) -> RunCounts:
    """Count what one run did."""
    run_id = run["run_id"]
    plans, plans_ok = connection.execute(_VERIFIED, (run_id,)).fetchone()
    rows = connection.execute(_STEPS, (run_id,))
    steps = [(status, StepResult.model_validate_json(text)) for status, text in rows]
    retried = [status for status, step in steps if step.attempts > 1 or step.instead_of]
    lanes = [status for status, step in steps if step.envelope]
    verdicts = connection.execute("SELECT content FROM verdicts WHERE run_id = ? ORDER BY rowid", (run_id,))
    rulings = [json.loads(content) for (content,) in verdicts]
    safe = run["status"] == "completed" and bool(rulings) and rulings[-1]["verdict"] == "accept"
    tokens, cost, unpriced = connection.execute(_USED, (run_id,)).fetchone()
    return RunCounts(
        runs=1,
        plans=plans,
        plans_ok=plans_ok,
        steps=len(steps),
        steps_ok=_completed(status for status, _ in steps),
        retried=len(retried),
        recovered=_completed(retried),
        escalated=int(_has_escalation(connection, run_id)),
        lanes=len(lanes),
        lanes_ok=_completed(lanes),
        replanned=int(any(ruling["replan_attempts"] for ruling in rulings)),
        safe=int(safe),
        safe_seconds=_worked(connection, run_id) if safe else 0,
        tokens=tokens,
        cost=cost,
        unpriced=unpriced,
    )


def group_of(connection: sqlite3.Connection, run: sqlite3.Row, by: By) -> str:
    """Name the group that a run is in: its agent, first model, week, gravest risk, or "all"."""
    if by == "agent":
        return str(json.loads(run["context"]).get("agent") or "(none)")
    if by == "model":
        row = connection.execute(_MODEL, (run["run_id"],)).fetchone()
        return str(row[0]) if row else "(none)"
    if by == "week":
        year, week, _ = datetime.fromisoformat(run["started_at"]).isocalendar()
        return f"{year}-W{week:02}"
    if by == "risk":
        return _risk(connection, run["run_id"])
    return "all"


def _risk(connection: sqlite3.Connection, run_id: str) -> str:
    """Name the gravest risk of the steps that a run has planned, or called in a loop."""
    query = "SELECT checked FROM plans WHERE run_id = ?"
    entries = [entry for (text,) in connection.execute(query, (run_id,)) for entry in json.loads(text)]
    return highest_risk(*(entry["risk"] for entry in entries)) if entries else "None"


def _has_escalation(connection: sqlite3.Connection, run_id: str) -> bool:
    query = "SELECT 1 FROM gates WHERE run_id = ? AND kind = 'escalation' LIMIT 1"
    return connection.execute(query, (run_id,)).fetchone() is not None


def _worked(connection: sqlite3.Connection, run_id: str) -> float:
    query = "SELECT coalesce(sum(seconds), 0) FROM work_times WHERE run_id = ?"
    return float(connection.execute(query, (run_id,)).fetchone()[0])


def _completed(statuses: Iterable[str] | Sequence[str]) -> int:
    return sum(status == "completed" for status in statuses)


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None
