"""Random plans through the product: a scripted planner, real stores in memory, and a person who answers."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from unittest import mock

from langchain_core.messages import BaseMessage
from langgraph.config import get_config
from langgraph.types import Command
from pydantic import Field

from benchmarks.oracle_plans import Case
from benchmarks.plan_oracle import Outcome, Sketch, Step
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityForbidden, CapabilityUnavailable
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.effects.kept_effects import NEW
from planwright.records.effects.ledger import Ledger
from planwright.settings.settings import load
from planwright.state.invocation import Invocation, invocation_of

Planted = Literal["", "cascade", "repeat"]
LIMITS = {"effects": 1000, "effects_per_minute": 1000, "tool_calls": 1000, "tokens": 10_000_000}
MOST_ANSWERS = 60


class Planner(ScriptedModel):
    """Propose the plans of a case, one after the other."""

    plans: list[str] = Field(default_factory=list)

    def _reply(self, messages: list[BaseMessage]) -> str | dict[str, Any]:
        role = messages[0].text.partition("\n")[0]
        if role == "Role: planner":
            return self.plans.pop(0)
        return "NO_ALTERNATIVE" if role == "Role: alternative" else "That was it."


@dataclass
class Stage:
    """One agent, and what its capabilities did for the run that it has just now."""

    agent: Agent
    model: Planner
    happened: Counter[str]
    tried: Counter[str] = field(default_factory=Counter)


def open_stage(folder: Path, budget: int) -> Stage:
    """Open an agent over a folder, which may plan again as often as `budget` says."""
    folder.mkdir(parents=True, exist_ok=True)
    happened, tried = Counter[str](), Counter[str]()
    model = Planner(replies=["never"])
    settings = load(
        folder,
        planning={"mode": "always", "replan_budget": budget},
        execution={"retry_base_ms": 0, "run_retries": 10_000},
        alternative={"enabled": False},
        budgets={"run": LIMITS},
        memory={"proposals": "off"},
        approval={"order": "plan_first", "depth": "plan"},
    )
    agents: list[Agent] = []
    agents.append(build_graph(settings, model=model, capabilities=_capabilities(happened, tried, agents)))
    return Stage(agents[0], model, happened, tried)


def play(stage: Stage, case: Case) -> Outcome:
    """Run a case up to its end, answering its gates, and say what it came to."""
    stage.happened.clear()
    stage.tried.clear()
    stage.model.plans = [json.dumps(spelled(plan)) for plan in case.plans]
    config: Any = {"configurable": {"thread_id": f"case-{case.seed}"}}
    steps = {step.id: step for plan in case.plans for step in plan.steps}
    output = stage.agent.invoke({"messages": [("user", "Do it")]}, config)
    for _ in range(MOST_ANSWERS):
        if not (asked := output.get("__interrupt__")):
            break
        gate = asked[0].value
        answer = {"type": answer_to(gate["shown"], steps), "gate_id": gate["gate_id"]}
        output = stage.agent.invoke(Command(resume=answer), config)
    values = stage.agent.get_state(config).values
    ended = {entry.step.id: values["results"][entry.uid].status for entry in values["checked"]}
    return Outcome(output["status"], ended, Counter(stage.happened), len(case.plans) - len(stage.model.plans))


def answer_to(shown: dict[str, Any], steps: dict[str, Step]) -> str:
    """Answer a gate as the case says; a plan is approved, and a failure is left as it is."""
    if shown.get("capability") == "escalation":
        return "reject"
    step = steps.get(str(shown.get("step_id")))
    if step is None:
        return "approve"
    return step.again if shown.get("done_before") else step.gate


def spelled(plan: Sketch) -> dict[str, Any]:
    """Spell a plan as a planner does."""
    return {
        "goal": "Do it",
        "on_failed_dependency": "skip" if plan.skip else "partial",
        "steps": [_spelled(step) | _condition(step, plan) for step in plan.steps],
    }


def _spelled(step: Step) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": step.id,
        "capability": "bench.write" if step.effect else "bench.read",
        "params": {"name": step.name, "does": step.does},
        "depends_on": list(step.needs),
    }
    if step.skip is not None:
        fields["on_failed_dependency"] = "skip" if step.skip else "partial"
    return fields | ({"approval_mode": "destructive"} if step.gate else {})


def _condition(step: Step, plan: Sketch) -> dict[str, Any]:
    """Spell the condition of a step: over what the one that it reads brings, which is its name."""
    if step.when is None:
        return {}
    read, holds = step.when
    name = next(one.name for one in plan.steps if one.id == read)
    compared = "> 1" if holds is None else f'{"==" if holds else "!="} "{name}"'
    return {"when": f"steps.{read}.output {compared}"}


def _capabilities(happened: Counter[str], tried: Counter[str], agents: list[Agent]) -> list[Capability]:
    async def behave(name: str, does: str, call: CallContext) -> None:
        tried[name] += 1
        if does == "flaky" and tried[name] % 3 == 1:
            raise CapabilityUnavailable("busy")
        if does == "down":
            raise CapabilityUnavailable("down")
        if does == "late":
            raise TimeoutError
        if does == "fails":
            raise ValueError("broken")
        if does == "forbidden":
            raise CapabilityForbidden("not allowed")
        if does == "cancels":
            await cancel(call, invocation_of(get_config()), agents[0])

    async def read(name: str, does: str, call: CallContext) -> str:
        """Read."""
        await behave(name, does, call)
        return name

    async def write(name: str, does: str, call: CallContext) -> str:
        """Write."""
        await behave(name, does, call)
        happened[name] += 1
        return name

    reading = capability("bench.read", mode="read_only", trusted_result=True)(read)
    writing = capability("bench.write", mode="local_write", effect="idempotent", trusted_result=True)(write)
    return [reading, writing]


async def cancel(call: CallContext, invocation: Invocation, agent: Agent) -> None:
    """Cancel the run that a capability is called in, and wait until that is noticed."""
    assert call.lease is not None
    await agent.door.control.cancel(call.lease.thread_id, "somebody")
    while not invocation.cancelled_by:  # noqa: ASYNC110 - it is looked for in the store
        await asyncio.sleep(0.01)


@contextmanager
def planted(mutation: Planted) -> Iterator[None]:
    """Plant a mistake in the product, which the oracle has to see."""
    if mutation == "cascade":
        where, what = "planwright.planning.empty_results.cascade_decision", _turned_round()
        with mock.patch(where, what):
            yield
    elif mutation == "repeat":
        with (
            mock.patch.object(Ledger, "keep", _nothing),
            mock.patch.object(Ledger, "done_before", _no_effects),
            mock.patch("planwright.records.effects.ledger.past_of", return_value=NEW),
        ):
            yield
    else:
        yield


def _turned_round() -> Callable[..., Any]:
    from planwright.domain.schedule import cascade_decision

    return lambda needs, results, cascade: cascade_decision(
        needs, results, "partial" if cascade == "skip" else "skip"
    )


async def _nothing(*_: Any) -> Any:
    return NEW


async def _no_effects(*_: Any) -> dict[Any, Any]:
    return {}
