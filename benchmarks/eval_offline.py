"""`make eval-offline`: the embedded planner on written requests, planned by the real graph.

`offline_requests.jsonl` was written beside the planner and `…_tuning.jsonl` by somebody who had
not seen it; the planner was tuned on both. `…_heldout.jsonl` was written before there was a
planner, and nothing was tuned on it. `…_qualifiers.jsonl` holds requests with a qualifier that a
partial read drops; `--qualifiers` measures it and decides nothing, because the planner still fails it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from planwright.demo.workspace import write_workspace
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import load

HERE = Path(__file__).parent
SETS = {
    "own": HERE / "offline_requests.jsonl",
    "tuning": HERE / "offline_requests_tuning.jsonl",
    "held out": HERE / "offline_requests_heldout.jsonl",
}
QUALIFIERS = HERE / "offline_requests_qualifiers.jsonl"
EFFECTS = frozenset(
    "memory.write memory.forget files.write documents.create tickets.create channel.post mail.draft mail.send"
    " sql.execute".split()
)
REQUIRED = 0.85


@dataclass(frozen=True)
class Mark:
    """How one request went: right, and how many effects were planned that should not be."""

    right: bool
    wrong_effects: int
    why: str = ""


def mark(case: Mapping[str, Any], plan: Plan | None) -> Mark:
    """Compare a plan with what a case expects."""
    steps = list(plan.work) if plan else []
    effects = [step.capability or "" for step in steps if step.capability in EFFECTS]
    expect = case["expect"]
    if isinstance(expect, str):
        asked = plan is not None and plan.steps[-1].capability == "clarify"
        right = not steps and (asked if expect == "clarify" else not asked)
        return Mark(
            right,
            len(effects),
            "" if right else f"expected {expect}, planned {[s.capability for s in steps]}",
        )
    left, missing, wrong = list(steps), [], 0
    for call in expect:
        found = next((s for s in left if _fits(call, s, plan)), None)
        if found is not None:
            left.remove(found)
            continue
        missing.append(f"{call['capability']} {call['params']}")
    allowed = set(case.get("also_ok", ()))
    extra = [s for s in left if s.capability not in allowed]
    wrong = sum(step.capability in EFFECTS for step in extra)
    return Mark(
        not missing and not extra,
        wrong,
        "; ".join([*missing, *(f"extra {s.capability} {s.params}" for s in extra)]),
    )


def _fits(call: Mapping[str, Any], step: PlanStep, plan: Plan | None) -> bool:
    if call["capability"] != step.capability or plan is None:
        return False
    return all(_value_fits(name, wanted, step, plan) for name, wanted in call["params"].items())


def _value_fits(name: str, wanted: Any, step: PlanStep, plan: Plan) -> bool:
    names = name.split("|")
    given = " ".join(str(step.params[n]) for n in names if n in step.params)
    if name == "query" and "query" not in step.params and step.capability == "mail.search":
        given = str(step.params.get("sender", ""))
    if isinstance(wanted, Mapping) and "from" in wanted:
        ids = [s.id for s in plan.steps if s.capability == wanted["from"]]
        return any("{{steps." + id_ + ".output" in given for id_ in ids)
    if isinstance(wanted, Mapping):
        return all(str(word).lower() in given.lower() for word in wanted["contains"])
    default = {
        "status": "open",
        "path": ".",
        "pattern": "*",
        "timezone": "UTC",
        "kind": "amount",
        "channel": "team",
    }
    value = (given or default.get(name, "")).lower().rstrip("/")
    if isinstance(wanted, int | float) and (number := re.search(r"\d+(?:\.\d+)?", value)):
        return float(number[0]) == float(wanted)
    return value == str(wanted).lower().rstrip("/")


def plan_for(agent: Agent, request: str) -> Plan | None:
    """Plan one request by the real graph, without running anything."""
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    out = agent.invoke({"messages": [("user", request)]}, config, context=RunContext(dry_run=True))
    found = out.get("plan") if out["status"] == "planned" else None
    assert found is None or isinstance(found, Plan)
    return found


def evaluate(path: Path, show: bool) -> dict[str, float]:
    """Mark every request of a file."""
    cases = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        write_workspace(workspace)
        url = "http://127.0.0.1:9/hooks/team"
        settings = load(
            workspace, channels={"team": {"url": url}}, egress={"allow": ["127.0.0.1"]}, providers={}
        )
        agent = build_graph(settings)
        try:
            marks = [(case, mark(case, plan_for(agent, case["request"]))) for case in cases]
        finally:
            agent.close()
    if show:
        for case, found in marks:
            if not found.right:
                print(f"{case['id']}  {case['request']}\n      {found.why}")
    right = sum(found.right for _, found in marks)
    return {
        "requests": len(marks),
        "right": right,
        "wrong_effects": sum(found.wrong_effects for _, found in marks),
    }


def main() -> None:
    """Evaluate both sets, print a table, write eval.json, and fail below what is required."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what went wrong on our own set")
    parser.add_argument("--qualifiers", action="store_true", help="measure the set of qualifiers only")
    chosen = parser.parse_args()
    shown = chosen.show
    if chosen.qualifiers:
        print(json.dumps(evaluate(QUALIFIERS, shown)))
        return
    results = {name: evaluate(path, shown and name != "held out") for name, path in SETS.items()}
    table = Table("set", "requests", "right", "share", "wrong effects")
    flat: dict[str, float] = {}
    for name, result in results.items():
        share = result["right"] / result["requests"]
        table.add_row(
            name,
            *(f"{result[k]:.0f}" for k in ("requests", "right")),
            f"{share:.1%}",
            f"{result['wrong_effects']:.0f}",
        )
        flat |= {f"{name.replace(' ', '_')}_{key}": value for key, value in result.items()}
    Console().print(table)
    requests = sum(result["requests"] for result in results.values())
    right = sum(result["right"] for result in results.values())
    wrong = sum(result["wrong_effects"] for result in results.values())
    flat |= {
        "requests": requests,
        "right": right,
        "wrong_effects": wrong,
        "share": round(right / requests, 4),
    }
    Path("eval.json").write_text(json.dumps(flat, indent=2) + "\n")
    print(
        f"eval-offline: {right:.0f} of {requests:.0f} right ({right / requests:.1%}),"
        f" {wrong:.0f} wrong effects"
    )
    sys.exit(0 if right / requests >= REQUIRED and wrong == 0 else 1)


if __name__ == "__main__":
    main()
