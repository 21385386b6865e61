"""What past runs say of an agent: how often plans pass and steps succeed, whom they ask, and their cost."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Literal

from planwright.domain.risk import highest_risk
from planwright.records.history.rows import Row
from planwright.records.history.run_outcomes import (
    ended_runs,
    escalation_answers,
    first_model,
    model_use,
    seconds_of_work,
    step_results,
    verdict_rows,
    verified_plans,
    verified_steps,
)

By = Literal["all", "agent", "model", "week", "risk"]


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
    return counts_of_runs(connection, ended_runs(connection, since), by)


def counts_of_runs(connection: sqlite3.Connection, runs: Sequence[Row], by: By) -> dict[str, RunCounts]:
    """Count what some ended runs did, by group."""
    groups: dict[str, RunCounts] = {}
    for row in runs:
        name = group_of(connection, row, by)
        groups[name] = groups.get(name, RunCounts()) + counts_of(connection, row)
    return dict(sorted(groups.items()))


def counts_of(connection: sqlite3.Connection, run: Row) -> RunCounts:
    """Count what one run did."""
    run_id = run["run_id"]
    plans, plans_ok = verified_plans(connection, run_id)
    steps = step_results(connection, run_id)
    retried = [status for status, step in steps if step.attempts > 1 or step.instead_of]
    lanes = [status for status, step in steps if step.envelope]
    rulings = [json.loads(row["content"]) for row in verdict_rows(connection, run_id)]
    safe = run["status"] == "completed" and bool(rulings) and rulings[-1]["verdict"] == "accept"
    tokens, cost, unpriced = model_use(connection, run_id)
    return RunCounts(
        runs=1,
        plans=plans,
        plans_ok=plans_ok,
        steps=len(steps),
        steps_ok=_completed(status for status, _ in steps),
        retried=len(retried),
        recovered=_completed(retried),
        escalated=int(bool(escalation_answers(connection, run_id))),
        lanes=len(lanes),
        lanes_ok=_completed(lanes),
        replanned=int(any(ruling["replan_attempts"] for ruling in rulings)),
        safe=int(safe),
        safe_seconds=seconds_of_work(connection, run_id) if safe else 0,
        tokens=tokens,
        cost=cost,
        unpriced=unpriced,
    )


def group_of(connection: sqlite3.Connection, run: Row, by: By) -> str:
    """Name the group that a run is in: its agent, first model, week, gravest risk, or "all"."""
    if by == "agent":
        return str(json.loads(run["context"]).get("agent") or "(none)")
    if by == "model":
        return first_model(connection, run["run_id"]) or "(none)"
    if by == "week":
        year, week, _ = datetime.fromisoformat(run["started_at"]).isocalendar()
        return f"{year}-W{week:02}"
    if by == "risk":
        return _risk(connection, run["run_id"])
    return "all"


def _risk(connection: sqlite3.Connection, run_id: str) -> str:
    """Name the gravest risk of the steps that a run has planned, or called in a loop."""
    entries = [entry for _, entry in verified_steps(connection, run_id)]
    return highest_risk(*(entry["risk"] for entry in entries)) if entries else "None"


def _completed(statuses: Iterable[str] | Sequence[str]) -> int:
    return sum(status == "completed" for status in statuses)


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None
