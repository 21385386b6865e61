"""Plans in every format that is read, as JSON files, run to their end with capabilities of their names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.plan import Plan, PlanStep
from planwright.graph.building import build_graph
from planwright.models.replies.plan_keys import PLAN, STEP
from planwright.models.replies.plan_reading import read_plan
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load
from tests.scenarios.test_named_gates import by

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

PLANS = sorted(Path(__file__).with_name("plans").glob("*.json"))
POLICY = """
[gates.GATE_FINANCE_APPROVAL]
approvers = ["kim"]

[[rule]]
decide = "allow"
"""


def stand_in(name: str, done: list[str]) -> Capability:
    """Make a capability of this name that only writes down that it was called."""
    mode: Any = {"adp_payments.issue_refund": "destructive"}.get(name, "read_only")
    if name.endswith((".create_issue", ".send", ".create")):
        mode = "local_write"

    @capability(name, mode=mode, effect="pure" if mode == "read_only" else "idempotent", trusted_result=True)
    def call(order_id: str = "", text: str = "") -> str:
        """Do what its name says."""
        done.append(name)
        return f"{name} {order_id} {text}"

    return call


def names_of(plan: Plan) -> set[str]:
    """Name what a plan calls."""
    named = {step.capability for step in plan.steps if step.capability and not step.closing}
    return named | {hint for step in plan.steps for hint in step.tool_hints}


class Worker(ScriptedModel):
    """Propose the plan; in each of its steps call the first tool of the step, then say so."""

    steps: list[PlanStep] = []  # noqa: RUF012 - a field of the model

    def _reply(self, messages: list[BaseMessage]) -> str | dict[str, Any]:
        for step in self.steps:
            if any(json.dumps(step.description) in message.text for message in messages[1:2]):
                if isinstance(messages[-1], ToolMessage):
                    return f"{step.id} is done"
                name = step.tool_hints[0].replace(".", "__")
                return {"tool_calls": [{"name": name, "args": {"text": step.id}, "id": f"call_{step.id}"}]}
        return super()._reply(messages)


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_plan_of_this_format_runs_to_its_end(path: Path, scene: Scene) -> None:
    (scene.workspace / "policy.toml").write_text(POLICY, encoding="utf-8")
    plan, done = read_plan(json.loads(path.read_text("utf-8"))).plan, list[str]()
    tools = [stand_in(name, done) for name in sorted(names_of(plan))]
    agentic = [step for step in plan.steps if step.agentic]
    model = Worker(replies=[path.read_text("utf-8"), "the answer"], steps=agentic)
    settings = load(scene.workspace, approval={"tool_risk": "High"})
    agent = build_graph(settings, capabilities=tools, model=model)
    scene.agents.append(agent)
    output = scene.ask(agent)
    for _ in range(8):
        if not (gates := agent.get_state(scene.config).interrupts):
            break
        output = scene.answer(agent, {gates[0].value["gate_id"]: by("kim")["decisions"][0]})
    assert output["status"] == "completed"
    assert len(done) == len(plan.work)
    asked = [row["shown"] for row in scene.rows("SELECT shown FROM gates")]
    assert ("GATE_FINANCE_APPROVAL" in "".join(asked)) is ("requires" in path.read_text("utf-8"))


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_every_key_of_the_formats_is_a_field_and_counts(path: Path) -> None:
    written = json.loads(path.read_text("utf-8"))
    assert all(PLAN.official.get(key) for key in written)
    assert all(STEP.official.get(key) for step in written["steps"] for key in step)
    plan = read_plan(written).plan
    for number, step in enumerate(written["steps"]):
        for key in step.keys() - {"inputs", "dependsOn"}:
            less = json.loads(path.read_text("utf-8"))
            del less["steps"][number][key]
            if "id" in less["steps"][number] or "context_key" in less["steps"][number]:
                assert read_plan(less).plan.plan_hash != plan.plan_hash
