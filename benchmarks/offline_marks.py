"""How a plan of the embedded planner compares with what a written request expects."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planwright.domain.plan import Plan, PlanStep

EFFECTS = frozenset(
    "memory.write memory.forget files.write documents.create tickets.create channel.post mail.draft mail.send"
    " sql.execute".split()
)
DEFAULTS = {
    "status": "open",
    "path": ".",
    "pattern": "*",
    "timezone": "UTC",
    "kind": "amount",
    "channel": "team",
}


@dataclass(frozen=True)
class Mark:
    """How one request went."""

    right: bool
    """Whether the plan is what the request expects."""
    wrong_effects: int = 0
    """Effects that were planned and should not be."""
    wrong_read: bool = False
    """Whether something would be read and answered that was not asked for."""
    why: str = ""
    """What is wrong, in words; "" where it is right."""


def mark(case: Mapping[str, Any], plan: Plan | None, workspace: Path) -> Mark:
    """Compare a plan with what a case expects; a statement is compared by the rows it brings."""
    steps = list(plan.work) if plan else []
    expect = case["expect"]
    if isinstance(expect, str):
        return _without_work(expect, plan, steps)
    left, missing = list(steps), []
    for call in expect:
        step = next((step for step in left if _fits(call, step, plan, workspace)), None)
        if step is not None:
            left.remove(step)
            continue
        missing.append(f"{call['capability']} {call.get('params') or call.get('sql', '')}")
    allowed = set(case.get("also_ok", ()))
    extra = [step for step in left if step.capability not in allowed]
    wrong = sum(step.capability in EFFECTS for step in extra)
    why = "; ".join([*missing, *(f"extra {step.capability} {step.params}" for step in extra)])
    return Mark(not why, wrong, bool(why and steps and not wrong), why)


def _without_work(expect: str, plan: Plan | None, steps: list[PlanStep]) -> Mark:
    """Mark what no step is expected for: `cannot`, `clarify` (or a refusal), `talk`."""
    last = plan.steps[-1].capability if plan else None
    outcome = {None: "cannot", "clarify": "clarify"}.get(last, "talk")
    right = not steps and outcome in {"cannot": ("cannot",), "talk": ("talk",)}.get(
        expect, ("clarify", "cannot")
    )
    effects = sum(step.capability in EFFECTS for step in steps)
    why = "" if right else f"expected {expect}, planned {[step.capability for step in steps] or outcome}"
    return Mark(right, effects, bool(steps and not effects), why)


def _fits(call: Mapping[str, Any], step: PlanStep, plan: Plan | None, workspace: Path) -> bool:
    if call["capability"] != step.capability or plan is None:
        return False
    if "sql" in call:
        return _same_rows(call["sql"], step, workspace)
    return all(_value_fits(name, wanted, step, plan) for name, wanted in call["params"].items())


def _same_rows(statement: str, step: PlanStep, workspace: Path) -> bool:
    path = workspace / str(step.params["database"])
    with closing(sqlite3.connect(path)) as database:
        wanted = database.execute(statement).fetchall()
        parameters: Any = step.params.get("parameters") or []
        planned = database.execute(str(step.params["statement"]), parameters).fetchall()
    return _spelled(wanted) == _spelled(planned)


def _spelled(rows: list[tuple[Any, ...]]) -> list[list[str]]:
    return sorted(
        sorted(str(round(value, 6) if isinstance(value, float) else value) for value in row) for row in rows
    )


def _value_fits(name: str, wanted: Any, step: PlanStep, plan: Plan) -> bool:
    names = name.split("|")
    value = " ".join(str(step.params[n]) for n in names if n in step.params)
    if name == "query" and "query" not in step.params and step.capability == "mail.search":
        value = str(step.params.get("sender", ""))
    if isinstance(wanted, Mapping) and "from" in wanted:
        ids = [s.id for s in plan.steps if s.capability == wanted["from"]]
        return any("{{steps." + id_ + ".output" in value for id_ in ids)
    if isinstance(wanted, Mapping):
        return all(str(word).lower() in value.lower() for word in wanted["contains"])
    if isinstance(wanted, list):
        return all(str(item).lower() in value.lower() for item in wanted)
    plain = (value or DEFAULTS.get(name, "")).lower().rstrip("/")
    if isinstance(wanted, int | float) and (number := re.search(r"\d+(?:\.\d+)?", plain)):
        return float(number[0]) == float(wanted)
    return plain == str(wanted).lower().rstrip("/")
