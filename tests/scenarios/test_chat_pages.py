"""What chat pages and inboxes show of a gate and send to it, in each of their forms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.constants import END
from langgraph.types import Command

from planwright.domain.errors import GateError

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene


@pytest.fixture
def agent(scene: Scene) -> Agent:
    """An agent whose plan waits for a person."""
    return scene.agent(scene.plan(scene.step("s1", "work.write", estimated_risk="Medium")), "the answer")


@pytest.fixture
def asked(scene: Scene, agent: Agent) -> dict[str, Any]:
    """What its gate asks."""
    value: dict[str, Any] = scene.ask(agent)["__interrupt__"][0].value
    return value


def test_an_inbox_reads_what_is_asked(asked: dict[str, Any]) -> None:
    (action,) = asked["action_requests"]
    assert asked["action_request"] == {"action": action["name"], "args": action["args"]}
    assert asked["description"] == action["description"]
    assert asked["config"] == dict.fromkeys(
        ("allow_accept", "allow_edit", "allow_respond", "allow_ignore"), True
    )


def test_a_gate_of_calls_shows_all_of_them_in_one_request(scene: Scene) -> None:
    calls = scene.calls(("work__write", {"name": "a"}), ("work__write", {"name": "b"}))
    agent = scene.agent(calls, "the answer", planning={"mode": "auto"}, approval={"tool_risk": "Low"})
    value = scene.ask(agent, "Write a and b")["__interrupt__"][0].value
    request = value["action_request"]
    assert request["action"] == "work.write + work.write"
    assert [args["name"] for args in request["args"].values()] == ["a", "b"]
    scene.answer(agent, [{"type": "accept", "args": request}])
    assert sorted(scene.done) == ["a", "b"]


@pytest.mark.parametrize("sent", ["args", "none"])
def test_accept(scene: Scene, agent: Agent, asked: dict[str, Any], sent: str) -> None:
    args = asked["action_request"] if sent == "args" else None
    assert scene.answer(agent, [{"type": "accept", "args": args}])["status"] == "completed"
    assert scene.done == ["s1"]


def test_ignore(scene: Scene, agent: Agent, asked: dict[str, Any]) -> None:
    assert scene.answer(agent, [{"type": "ignore", "args": None}])["status"] == "rejected"
    assert scene.done == []


def test_response(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    agent = scene.agent(plan, plan, "the answer")
    scene.ask(agent)
    assert scene.answer(agent, [{"type": "response", "args": "on a Tuesday"}])["__interrupt__"]
    reasons = scene.rows("SELECT reason FROM gates WHERE status = 'responded'")
    assert [row["reason"] for row in reasons] == ["on a Tuesday"]
    assert scene.done == []


def test_a_plan_edited_as_text_is_read(scene: Scene, agent: Agent, asked: dict[str, Any]) -> None:
    text = json.dumps(asked["action_request"]["args"]["plan"]).replace('"name": "s1"', '"name": "edited"')
    edit = {"action": asked["action_request"]["action"], "args": {"plan": text}}
    again = scene.answer(agent, [{"type": "edit", "args": edit}])
    assert again["__interrupt__"][0].value["shown"]["steps"][0]["params"] == {"name": "edited"}
    scene.decide(agent, "approve")
    assert scene.done == ["edited"]


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "7", '"x"', "x" * 2_000_000], ids=len)
def test_a_text_that_is_no_plan_is_refused(
    scene: Scene, agent: Agent, asked: dict[str, Any], text: str
) -> None:
    before = scene.everything()
    with pytest.raises(GateError, match="the gate is still open"):
        scene.answer(agent, [{"type": "edit", "args": {"action": "approve_plan", "args": {"plan": text}}}])
    assert scene.everything() == before


@pytest.mark.parametrize("goto", [END, [END], (END,)], ids=str)
def test_a_thread_is_marked_as_resolved_by_going_to_the_end(
    scene: Scene, agent: Agent, asked: dict[str, Any], goto: Any
) -> None:
    output = agent.invoke(Command(goto=goto), scene.config)
    assert (output["status"], scene.done) == ("cancelled", [])
    (gate,) = scene.rows("SELECT status FROM gates")
    assert gate["status"] != "open"
    assert agent.get_state(scene.config).next == ()


def test_a_thread_is_marked_as_resolved_by_an_update_at_the_end(
    scene: Scene, agent: Agent, asked: dict[str, Any]
) -> None:
    agent.update_state(scene.config, None, as_node=END)
    state = agent.get_state(scene.config)
    assert (state.values["status"], state.next, scene.done) == ("cancelled", (), [])


def test_a_resolved_thread_takes_a_new_message(scene: Scene, agent: Agent, asked: dict[str, Any]) -> None:
    agent.invoke(Command(goto=END), scene.config)
    output = scene.ask(scene.agent('{"task": "read"}', scene.plan(scene.step("r", "work.read")), "done"))
    assert (output["status"], scene.done) == ("completed", ["r"])


def test_what_has_ended_stays_as_it_ended_when_it_is_resolved(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("r", "work.read")), "the answer")
    scene.ask(agent)
    assert agent.invoke(Command(goto=END), scene.config)["status"] == "completed"
    agent.update_state(scene.config, None, as_node=END)
    assert [row["status"] for row in scene.rows("SELECT status FROM runs")] == ["completed"]


@pytest.mark.parametrize(
    "command", [Command(goto=END, update={"approved": True}), Command(goto=END, resume=True)], ids=["u", "r"]
)
def test_a_command_that_does_more_is_refused(
    scene: Scene, agent: Agent, asked: dict[str, Any], command: Any
) -> None:
    with pytest.raises(GateError, match="may only resume"):
        agent.invoke(command, scene.config)
    assert scene.done == []
