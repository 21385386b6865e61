"""Plans whose steps use the same things end as if their steps had run one by one, as written.

A loop of a few lines calls one capability after another, as the steps are written; then, in other orders,
as far as the verified plan leaves that open. An agent runs the same plan, as many steps at once as it finds
free. What the steps returned and what is left of files, tables, tickets and memories has to be equal. With
`--without-order` no order is added, and that has to show.
Prints N, failures and the seed, writes `order.json`, and exits with 1 on any failure.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from langgraph.types import Command
from pydantic import JsonValue

from benchmarks.ordered_plans import Step, comparable, end_state, prepare, written_plan
from planwright.capabilities.arguments import check_arguments
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.gateway.invoke import invoke
from planwright.capabilities.policy.file import default_policy
from planwright.capabilities.registry import Registry, load_registry
from planwright.domain.errors import CapabilityError
from planwright.domain.hashing import sha256
from planwright.domain.plan import Plan
from planwright.domain.references import resolve, step_references
from planwright.domain.run_context import RunContext
from planwright.domain.verified_step import VerifiedStep
from planwright.graph.building import build_graph
from planwright.graph.call_context import open_call_context
from planwright.models.scripted import ScriptedModel
from planwright.planning.rules import Rules
from planwright.planning.verification import check_steps
from planwright.planning.write_conflicts import before, in_order
from planwright.records.stores import open_stores
from planwright.security.redaction.redactor import Redactor
from planwright.settings.profile import in_force
from planwright.settings.settings import Settings, load

CALL_S = 60


@dataclass
class Outcome:
    """What a plan has come to: how each step ended, and what is left."""

    steps: dict[str, tuple[str, Any]]
    left: dict[str, Any]


@dataclass
class Report:
    """What came of all plans; `seed` makes the same ones again."""

    seed: int
    plans: int = 0
    steps: int = 0
    failing_steps: int = 0
    waits_added: int = 0
    runs: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)

    def begin(self, plan: Sequence[Step], expected: Outcome, checked: Sequence[VerifiedStep]) -> None:
        """Count a plan."""
        self.plans += 1
        self.steps += len(plan)
        self.failing_steps += sum(status != "completed" for status, _ in expected.steps.values())
        self.waits_added += sum(len(entry.follows) for entry in checked)

    def compare(self, plan: Sequence[Step], order: object, expected: Outcome, outcome: Outcome) -> None:
        """Note where two runs of a plan have ended otherwise."""
        self.runs += 1
        steps = {i: [end, outcome.steps[i]] for i, end in expected.steps.items() if end != outcome.steps[i]}
        left = {n: [end, outcome.left[n]] for n, end in expected.left.items() if end != outcome.left[n]}
        if steps or left:
            self.failures.append({"plan": list(plan), "order": order, "steps": steps, "left": left})


def settings_of(folder: Path) -> Settings:
    """Let a person approve each plan and its gates at once, and every step run as soon as it can."""
    folder.mkdir(parents=True, exist_ok=True)
    return load(
        folder,
        planning={"mode": "always", "replan_budget": 0},
        approval={"plan": "always", "depth": "plan_and_gates"},
        execution={"max_parallel_steps": 16},
    )


async def one_by_one(steps: Sequence[Step], registry: Registry, world: CallContext, name: str) -> Outcome:
    """Call the steps of a plan in the order in which they are written."""
    ends: dict[str, tuple[str, Any]] = {}
    for step in steps:
        needs = {*step["depends_on"], *step_references(step["params"])}
        done = {id_: ends[id_][1] for id_ in needs if ends[id_][0] == "completed"}
        capability = registry.get(step["capability"])
        assert capability is not None
        scope: dict[str, JsonValue] = {"steps": {id_: {"output": output} for id_, output in done.items()}}
        if needs and not done:
            ends[step["id"]] = ("skipped", None)
            continue
        try:
            params = resolve(dict(step["params"]), scope)
            assert isinstance(params, dict)
            args = check_arguments(capability, params)
            capability.check(args, world)
            call = world.for_call(name, name, sha256([name, step["id"]]))
            ends[step["id"]] = ("completed", await invoke(capability, args, call, CALL_S))
        except CapabilityError:
            ends[step["id"]] = ("failed", None)
    listed = {id_: _comparable(steps, id_, *end) for id_, end in ends.items()}
    place = world.settings
    return Outcome(listed, end_state(place.workspace, place.store_folder / "planwright.db", name))


def _comparable(steps: Sequence[Step], id_: str, status: str, output: Any) -> tuple[str, Any]:
    capability = next(str(step["capability"]) for step in steps if step["id"] == id_)
    return status, comparable(capability, output) if status == "completed" else None


def _answer(kind: str) -> str:
    """Approve what is asked before it runs; let what has failed rest: tried again, it would come last."""
    return "reject" if kind == "escalation" else "approve"


async def at_once(agent: Any, steps: Sequence[Step], settings: Settings, name: str) -> Outcome:
    """Let an agent run a plan, approved as a whole."""
    config = {"configurable": {"thread_id": name}}
    context = RunContext(tenant=name)
    await agent.ainvoke({"messages": [("user", f"Run the plan {name}")]}, config, context=context)
    while asked := (await agent.aget_state(config)).interrupts:
        answers = {gate.id: {"decisions": [{"type": _answer(gate.value["kind"])}]} for gate in asked}
        await agent.ainvoke(Command(resume=answers), config, context=context)
    state = (await agent.aget_state(config)).values
    results = {result.step_id: result for result in state["results"].values()}
    ends = {
        step["id"]: _comparable(steps, step["id"], results[step["id"]].status, results[step["id"]].output)
        for step in steps
    }
    database = settings.store_folder / "planwright.db"
    return Outcome(ends, end_state(settings.workspace, database, name))


def shuffled(plan: Sequence[Step], checked: Sequence[VerifiedStep], random: Random) -> list[Step]:
    """Put the steps of a plan in any order that its verified steps allow."""
    by_uid = {entry.uid: entry.step.id for entry in checked}
    waits = {entry.step.id: {by_uid[uid] for uid in before(entry)} for entry in checked}
    order: list[Step] = []
    while len(order) < len(plan):
        gone = {step["id"] for step in order}
        free = [step for step in plan if step["id"] not in gone and waits[step["id"]] <= gone]
        order.append(random.choice(free))
    return order


@dataclass
class Loop:
    """Where plans run one by one: the capabilities, and what they find in their calls."""

    registry: Registry
    world: CallContext
    runs: int = 0

    async def run(self, steps: Sequence[Step]) -> Outcome:
        """Run steps in the order given, from the beginning."""
        self.runs += 1
        prepare(self.world.settings.workspace)
        return await one_by_one(steps, self.registry, self.world, f"run{self.runs}")

    def verified(self, plan: Sequence[Step]) -> list[VerifiedStep]:
        """Verify a plan as an agent does."""
        draft, settings = Plan.model_validate({"steps": plan}), self.world.settings
        rules = Rules(self.registry, settings, self.world, None, in_force(settings, RunContext()))
        checked = check_steps(draft, rules, "run", {}, ())
        return in_order(draft, checked, (), self.registry, self.world)[0]


async def sweep(count: int, seed: int, most: int, folder: Path, *, orders: int, by_agent: int) -> Report:
    """Run plans as written, in so many other orders, and `by_agent` of them by an agent; compare the ends."""
    report, random = Report(seed), Random(seed)
    plans = [written_plan(random, most) for _ in range(count)]
    alone, beside = settings_of(folder / "one by one"), settings_of(folder / "at once")
    stores = open_stores(alone.store_folder)
    registry = load_registry(alone.workspace)
    loop = Loop(registry, open_call_context(alone, stores, registry, default_policy(), Redactor()))
    replies = [text for plan in plans for text in (json.dumps({"goal": "g", "steps": plan}), "done")]
    agent = build_graph(beside, model=ScriptedModel(replies=list(replies))) if by_agent else None
    try:
        for number, plan in enumerate(plans):
            expected, checked = await loop.run(plan), loop.verified(plan)
            report.begin(plan, expected, checked)
            for _ in range(orders):
                order = shuffled(plan, checked, random)
                report.compare(plan, [step["id"] for step in order], expected, await loop.run(order))
            if agent and number < by_agent:
                prepare(beside.workspace)
                outcome = await at_once(agent, plan, beside, f"plan{number}")
                report.compare(plan, "at once", expected, outcome)
    finally:
        if agent:
            await agent.aclose()
        stores.close()
    return report


@contextmanager
def without_order() -> Iterator[None]:
    """Take the order of steps away, to see that the comparison finds it out."""
    with mock.patch("planwright.planning.write_conflicts.order_edges", return_value={}):
        yield


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the options, run, print and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=500)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--most-steps", type=int, default=9)
    parser.add_argument("--orders", type=int, default=4)
    parser.add_argument("--by-agent", type=int, default=500)
    parser.add_argument("--without-order", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("order.json"))
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, without_order() if chosen.without_order else nullcontext():
        runs = {"orders": chosen.orders, "by_agent": chosen.by_agent}
        report = asyncio.run(sweep(chosen.plans, chosen.seed, chosen.most_steps, Path(folder), **runs))
    chosen.out.write_text(json.dumps(vars(report), indent=1), "utf-8")
    print(
        f"plans {report.plans}, steps {report.steps} ({report.failing_steps} do not succeed), waits added"
        f" {report.waits_added}, runs {report.runs}, seed {report.seed}: {len(report.failures)} end otherwise"
        " than as written"
    )
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
