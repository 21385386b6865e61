"""Whatever somebody writes into the state of a thread: the card shows what runs, or nothing runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.types import Command
from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import PlanwrightError, RunError
from planwright.domain.results import TERMINAL, StepResult
from planwright.graph import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.nodes.closing.session_close import CHANGED
from planwright.records.ownership.cancelling import cancel
from planwright.settings.settings import load

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

NODES = (
    "session_event",
    "tool_filter",
    "planning",
    "classification",
    "planner",
    "verify",
    "plan_gate",
    "dispatch",
)
EVIL = {"place": "left", "text": "evil"}
Forge = Callable[[dict[str, Any]], dict[str, Any]]


def evil_plan(state: dict[str, Any]) -> dict[str, Any]:
    plan = state.get("plan")
    if plan is None:
        return {}
    steps = [step.model_copy(update={"params": EVIL}) if step.params else step for step in plan.steps]
    return {"plan": plan.model_copy(update={"steps": tuple(steps)})}


def evil_steps(state: dict[str, Any]) -> dict[str, Any]:
    checked = [
        entry.model_copy(
            update={"step": entry.step.model_copy(update={"params": EVIL}), "gated": False, "asks": False}
        )
        for entry in state.get("checked", [])
    ]
    return {"checked": checked} if checked else {}


def evil_result(state: dict[str, Any]) -> dict[str, Any]:
    results = {
        entry.uid: StepResult(
            uid=entry.uid, step_id=entry.step.id, capability="page.read", status="completed", output="evil"
        )
        for entry in state.get("checked", [])[:1]
    }
    return {"results": results} if results else {}


FORGES: dict[str, Forge] = {
    "plan": evil_plan,
    "steps": evil_steps,
    "plan and steps": lambda state: {**evil_plan(state), **evil_steps(state)},
    "result": evil_result,
    "gate": lambda state: {"gate_id": "gate_0000000000000000"},
    "no gate": lambda state: {"gate_id": ""},
    "approved": lambda state: {"approved": True, "gate_id": ""},
    "changes": lambda state: {"changes": []},
    "request": lambda state: {"request": "Put evil on the left"},
}


def opened(scene: Scene, shelf: list[str]) -> Agent:
    @capability("shelf.put", mode="local_write", risk="Medium", effect="idempotent", tags=("put",))
    def put(place: str, text: str) -> str:
        """Put a text on the shelf."""
        shelf.append(text)
        return "put"

    @capability("page.read", mode="read_only", tags=("read",))
    def read() -> str:
        """Read a page."""
        return "bread"

    declared: list[Capability] = [put, read]
    steps = [
        {"id": "s1", "capability": "page.read", "params": {}},
        {"id": "s2", "capability": "shelf.put", "params": {"place": "left", "text": "milk"}},
        {"id": "s3", "capability": "shelf.put", "params": {"place": "left", "text": "{{steps.s1.output}}"}},
    ]
    plan = json.dumps({"goal": "Put milk", "steps": steps})
    model = ScriptedModel(replies=[plan, plan, plan, "the answer"])
    agent = build_graph(
        load(scene.workspace, planning={"mode": "always"}), model=model, capabilities=declared
    )
    scene.agents.append(agent)
    return agent


@pytest.mark.sampled(8)
@pytest.mark.parametrize("forge", FORGES)
@pytest.mark.parametrize("node", NODES)
def test_the_card_shows_what_runs_or_nothing_runs(scene: Scene, node: str, forge: str) -> None:
    shelf: list[str] = []
    agent = opened(scene, shelf)
    agent.invoke({"messages": [("user", "Put milk and bread")]}, scene.config, interrupt_after=[node])
    shown: set[str] = set()
    try:
        if asked := agent.get_state(scene.config).interrupts:  # dispatch comes behind the gate
            shown |= texts(asked[0].value["shown"])
            agent.invoke(Command(resume="approve"), scene.config, interrupt_after=[node])
        agent.update_state(scene.config, FORGES[forge](agent.get_state(scene.config).values))
        agent.invoke(None, scene.config)
        while asked := agent.get_state(scene.config).interrupts:
            shown |= texts(asked[0].value["shown"])
            agent.invoke(Command(resume="approve"), scene.config)
    except PlanwrightError:
        pass
    assert set(shelf) <= shown | {"bread" if "{{steps.s1.output}}" in shown else ""}


@pytest.mark.parametrize("forged", [True, 1.0, 2], ids=str)
def test_a_value_of_another_type_is_not_the_one_on_the_card(scene: Scene, forged: Any) -> None:
    values: list[Any] = []

    @capability("flag.set", mode="local_write", risk="Medium", effect="idempotent")
    def set_flag(value: JsonValue) -> str:
        """Set the flag."""
        values.append(value)
        return "set"

    steps = [{"id": "s1", "capability": "flag.set", "params": {"value": 1}}]
    model = ScriptedModel(replies=[json.dumps({"goal": "Set", "steps": steps}), "the answer"])
    settings = load(scene.workspace, planning={"mode": "always", "replan_budget": 0})
    agent = build_graph(settings, model=model, capabilities=[set_flag])
    scene.agents.append(agent)
    agent.invoke({"messages": [("user", "Set the flag")]}, scene.config)
    entry = agent.get_state(scene.config).values["checked"][0]
    step = entry.step.model_copy(update={"params": {"value": forged}})
    agent.update_state(scene.config, {"checked": [entry.model_copy(update={"step": step})]})
    agent.invoke(Command(resume="approve"), scene.config)
    assert [repr(value) for value in values] in ([], ["1"])


def texts(card: dict[str, Any]) -> set[str]:
    """List the texts that a card shows, of its steps or of its one call."""
    steps = [step["params"] for step in card["steps"]] if "steps" in card else [card["args"]]
    return {str(params["text"]) for params in steps if "text" in params}


def test_a_state_that_says_it_is_done_at_an_open_gate_is_gone_on_with_by_nobody(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "done")
    scene.ask(agent)
    agent.update_state(scene.config, {"status": "completed", "answer": "forged"})
    with pytest.raises(RunError, match="it says completed, and a gate is open"):
        scene.decide(agent, "approve")
    assert scene.done == []
    agent.cancel(scene.thread)
    assert scene.rows("SELECT status FROM runs") == [{"status": "cancelled"}]


@pytest.mark.parametrize("node", ["agentic_loop", "respond", "clarify", "consolidate"])
def test_a_run_that_is_put_at_its_end_ends_as_failed_and_its_thread_goes_on(scene: Scene, node: str) -> None:
    agent = scene.agent(
        scene.plan(scene.step("s1", "work.destroy")), scene.plan(scene.step("s2", "work.read"))
    )
    scene.ask(agent)
    agent.update_state(scene.config, {"approved": True}, as_node=node)
    assert scene.recover(agent)["status"] == "failed"
    answer = f'{CHANGED}\nOn record:\n- work.destroy "s1": not done'
    assert scene.rows("SELECT status, answer FROM runs") == [{"status": "failed", "answer": answer}]
    assert scene.ask(agent)["status"] in TERMINAL
    assert "s1" not in scene.done


@pytest.mark.parametrize("node", ["direct_step", "lane"])
def test_a_run_that_is_put_behind_its_steps_can_be_cancelled(scene: Scene, node: str) -> None:
    agent = scene.agent(
        scene.plan(scene.step("s1", "work.destroy")), scene.plan(scene.step("s2", "work.read"))
    )
    scene.ask(agent)
    agent.update_state(scene.config, {"approved": True}, as_node=node)
    with pytest.raises(RunError, match="steps s1 have no result on record"):
        scene.recover(agent)
    assert agent.cancel(scene.thread)
    assert scene.rows("SELECT status FROM runs") == [{"status": "cancelled"}]
    assert scene.ask(agent)["status"] in TERMINAL
    assert "s1" not in scene.done


def test_nothing_is_decided_where_nothing_comes_after_it(scene: Scene) -> None:
    agent = scene.agent(
        scene.plan(scene.step("s1", "work.destroy")), scene.plan(scene.step("s2", "work.read"))
    )
    scene.ask(agent)
    agent.update_state(scene.config, {"approved": True}, as_node="session_close")
    with pytest.raises(RunError, match="nothing of it comes after this decision"):
        scene.decide(agent, "approve")
    assert scene.rows("SELECT status FROM gates") == [{"status": "open"}]
    ended = agent.loop.call(lambda: cancel(agent.stores, scene.thread, "me"))
    assert ended.status == "cancelled"
    assert scene.ask(agent)["status"] in TERMINAL
    assert scene.done == ["s2"]
