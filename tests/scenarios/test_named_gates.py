"""Gates that a plan names: only the people of the policy open them, and nothing takes their place."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import GateError
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

POLICY = """
[gates.finance]
approvers = ["kim", "sam"]
quorum = 2
expires_s = 3600
reason = "money leaves the house"

[gates.legal]
approvers = ["lou"]

[[rule]]
decide = "allow"
"""


def by(person: str, decision: str = "approve", **more: Any) -> dict[str, Any]:
    return {"decisions": [{"type": decision, "decided_by": person, **more}]}


def opened(scene: Scene, *replies: str | dict[str, Any], **options: Any) -> Agent:
    """Begin a run under the policy with two gates; its plan is approved where it asks."""
    (scene.workspace / "policy.toml").write_text(POLICY, encoding="utf-8")
    model = ScriptedModel(replies=[*replies, "the answer"])
    return scene.agent(model=model, **options)


def grave(scene: Scene, id_: str, capability: str) -> dict[str, Any]:
    return scene.step(id_, capability, requires=["finance"], estimated_risk="Medium")


def gate_names(scene: Scene, agent: Agent) -> list[str]:
    return [found.value["shown"].get("gate", "plan") for found in agent.get_state(scene.config).interrupts]


def test_a_named_gate_waits_for_its_people_and_only_then_the_step_runs(scene: Scene) -> None:
    agent = opened(scene, scene.plan(grave(scene, "pay", "work.write")))
    scene.ask(agent)
    scene.decide(agent, "approve")  # of the plan
    (asked,) = agent.get_state(scene.config).interrupts
    shown = asked.value["shown"]
    assert (shown["gate"], shown["args"]) == ("finance", {"name": "pay", "text": ""})
    assert "money leaves the house" in shown["reason"]
    assert "remember" not in asked.value
    with pytest.raises(GateError, match="not for mallory"):
        scene.answer(agent, by("mallory"))
    scene.answer(agent, by("kim"))
    with pytest.raises(GateError, match="kim has approved"):
        scene.answer(agent, by("kim"))
    assert scene.done == []
    assert scene.answer(agent, by("sam"))["status"] == "completed"
    assert scene.done == ["pay"]
    (gate,) = scene.rows("SELECT * FROM gates WHERE kind = 'step'")
    requested, expires = (datetime.fromisoformat(gate[name]) for name in ("requested_at", "expires_at"))
    assert round((expires - requested).total_seconds()) == 3600
    assert gate["status"] == "approved"


def test_two_gates_are_asked_one_after_another_and_the_own_gate_of_a_step_follows_them(scene: Scene) -> None:
    step = scene.step("wipe", "work.wipe", requires=["legal", "finance"])
    agent = opened(scene, scene.plan(step), approval={"depth": "plan_and_gates"})
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert gate_names(scene, agent) == ["legal"]
    scene.answer(agent, by("lou"))
    assert gate_names(scene, agent) == ["finance"]
    scene.answer(agent, by("kim"))
    assert scene.done == []
    assert scene.answer(agent, by("sam"))["status"] == "completed"
    assert scene.done == ["wipe"]
    rows = scene.rows("SELECT decided_by, channel FROM gates WHERE kind = 'step' ORDER BY rowid")
    assert [row["channel"] for row in rows][-1] in ("gate", "plan")
    assert len(rows) == 3


@pytest.mark.parametrize("capability", ["work.write", "work.destroy"])
def test_a_refused_gate_ends_the_step(capability: str, scene: Scene) -> None:
    agent = opened(scene, scene.plan(grave(scene, "a", capability)))
    scene.ask(agent)
    scene.decide(agent, "approve")
    output = scene.answer(agent, by("anybody", "reject", message="too much"))
    assert scene.done == []
    assert output["status"] in ("rejected", "failed", "escalated")


def test_no_other_plan_and_no_edit_leads_past_a_gate(scene: Scene) -> None:
    gated, bare = (
        scene.plan(grave(scene, "a", "work.write")),
        scene.plan(scene.step("b", "work.write", estimated_risk="Medium")),
    )
    agent = opened(scene, gated, bare, bare, bare, "{}")
    scene.ask(agent)
    (asked,) = agent.get_state(scene.config).interrupts
    plan = asked.value["shown"]
    for steps in (
        [{**plan["steps"][0], "requires": []}],
        [{"id": "n", "capability": "work.write", "params": {"name": "n"}}],
    ):
        plain = {key: value for key, value in steps[0].items() if key != "gates"}
        edit = {"name": "approve_plan", "args": {"plan": {**plan, "steps": [plain]}}}
        with pytest.raises(GateError, match=r"put finance before work\.write"):
            scene.answer(agent, {"type": "edit", "edited_action": edit})
    output = scene.decide(agent, "respond", "without finance, please")
    assert output["status"] == "refused"
    assert "missing_gate" in output["answer"]
    assert scene.done == []


def test_an_agent_asks_before_it_begins_and_its_calls_ask_as_ever(scene: Scene) -> None:
    step = {"id": "a", "description": "Write it", "tool_hints": ["work.write"], "requires": ["legal"]}
    call = scene.calls(("work__write", {"name": "w"}))
    model = ScriptedModel(replies=[scene.plan(step), call, "done", "the answer"])
    (scene.workspace / "policy.toml").write_text(POLICY, encoding="utf-8")
    agent = scene.agent(model=model)
    scene.ask(agent)
    if gate_names(scene, agent) == ["plan"]:
        scene.decide(agent, "approve")
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["shown"]["args"] == {"task": "Write it", "tools": ["work.write"]}
    assert len(model.prompts) == 1
    assert scene.answer(agent, by("lou"))["status"] == "completed"
    assert scene.done == ["w"]


def test_a_gate_that_the_policy_does_not_know_goes_back_to_the_planner(scene: Scene) -> None:
    wrong = scene.plan(scene.step("a", "work.read", requires=["FINANCE"]))
    model = ScriptedModel(replies=[wrong, scene.plan(scene.step("a", "work.read")), "the answer"])
    (scene.workspace / "policy.toml").write_text(POLICY, encoding="utf-8")
    assert scene.ask(scene.agent(model=model))["status"] == "completed"
    assert (
        "missing_gate [a]: there is no gate 'FINANCE' (there are: finance, legal)"
        in model.prompts[1][-1].text
    )


def test_what_comes_after_a_decision_asks_a_person(scene: Scene) -> None:
    steps = [scene.step("look", "work.read"), scene.step("write", "work.write", "look")]
    checkpoints = [{"decision_id": "refund.execute", "after_step": "look"}]
    agent = opened(scene, scene.plan(*steps, decision_checkpoints=checkpoints))
    output = scene.ask(agent)
    if gate_names(scene, agent) == ["plan"]:
        shown = agent.get_state(scene.config).interrupts[0].value["shown"]
        assert shown["decision_checkpoints"] == checkpoints
        assert "no decision catalog" in shown["decisions"]
        scene.decide(agent, "approve")
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["shown"]["gate"] == "refund.execute"
    assert "not bound" in asked.value["shown"]["reason"]
    assert scene.done == ["look"]
    output = scene.decide(agent, "approve")
    assert (output["status"], scene.done) == ("completed", ["look", "write"])


CHAIN = {
    "name": "do_both",
    "description": "do",
    "steps": [
        {"toolName": "work.write", "arguments": {"name": "one"}},
        {"toolName": "work.wipe", "arguments": {"name": "two"}},
    ],
}


def chained(scene: Scene) -> Agent:
    """Ask for a chain that waits at a named gate, up to that gate."""
    made = scene.step("make", "tool.create_chain", params=CHAIN)
    called = scene.step("call", "do_both", "make", params={}, requires=["legal"])
    agent = opened(scene, scene.plan(made, called))
    scene.ask(agent)
    while gate_names(scene, agent) == ["plan"]:
        scene.decide(agent, "approve")
    return agent


def test_a_chain_waits_for_its_named_gate_which_shows_all_its_calls(scene: Scene) -> None:
    agent = chained(scene)
    assert (gate_names(scene, agent), scene.done) == (["legal"], [])
    (asked,) = agent.get_state(scene.config).interrupts
    shown = json.dumps(asked.value["shown"])
    assert '"work.write"' in shown
    assert '"work.wipe"' in shown
    with pytest.raises(GateError, match="not for mallory"):
        scene.answer(agent, by("mallory"))
    assert scene.answer(agent, by("lou"))["status"] == "completed"
    assert scene.done == ["one", "two"]


def test_a_chain_whose_named_gate_is_refused_makes_no_call(scene: Scene) -> None:
    agent = chained(scene)
    output = scene.answer(agent, by("lou", "reject", message="not now"))
    assert (output["status"], scene.done) == ("rejected", [])
