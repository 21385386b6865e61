"""Feedback at the gate of a plan: the planner hears it and makes another, within its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import GateError
from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

FEEDBACK = {"decisions": [{"type": "respond", "message": "Write b instead"}]}


def write(scene: Scene, *names: str) -> str:
    """Plan to write something down, which a person has to approve."""
    return scene.plan(*(scene.step(name, "work.write", estimated_risk="Medium") for name in names))


def asked(scene: Scene, agent: Agent) -> dict[str, Any]:
    """Read what the one open gate asks."""
    (found,) = agent.get_state(scene.config).interrupts
    value: dict[str, Any] = found.value
    return value


def test_a_fresh_gate_offers_all_four_answers(scene: Scene) -> None:
    agent = scene.agent(write(scene, "a"))
    scene.ask(agent)
    (config,) = asked(scene, agent)["review_configs"]
    assert config["allowed_decisions"] == ["approve", "edit", "reject", "respond"]


@pytest.mark.parametrize(
    "answer",
    [
        FEEDBACK,
        {"type": "respond", "message": "Write b instead"},
        {"type": "response", "args": "Write b instead"},
        [{"type": "response", "args": "Write b instead"}],
    ],
    ids=["LangChain", "alone", "Agent Inbox", "Agent Inbox in a list"],
)
def test_feedback_leads_to_another_plan_that_is_asked_for(answer: Any, scene: Scene) -> None:
    agent = scene.agent(write(scene, "a"), write(scene, "b"), "the answer")
    scene.ask(agent)
    scene.answer(agent, answer)
    assert [step["id"] for step in asked(scene, agent)["shown"]["steps"]] == ["b"]
    assert scene.done == []
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["b"]
    assert scene.rows("SELECT status, reason FROM gates ORDER BY requested_at") == [
        {"status": "responded", "reason": "Write b instead"},
        {"status": "approved", "reason": ""},
    ]


def test_the_planner_hears_the_feedback_and_sees_the_plan_it_is_about(scene: Scene) -> None:
    model = ScriptedModel(replies=[write(scene, "a"), write(scene, "b"), "the answer"])
    agent = scene.agent(model=model)
    scene.ask(agent)
    plan = asked(scene, agent)["shown"]
    plan["steps"][0]["params"]["text"] = "edited by hand"
    action = {"name": "approve_plan", "args": {"plan": plan}}
    scene.answer(agent, {"type": "edit", "edited_action": action})
    scene.answer(agent, FEEDBACK)
    *_, draft, told = model.prompts[-1]
    assert "feedback: Write b instead" in told.text
    assert (draft.type, '"text": "edited by hand"' in draft.text) == ("ai", True)


def test_the_planner_still_hears_the_feedback_when_its_next_plan_does_not_verify(scene: Scene) -> None:
    wrong = scene.plan(scene.step("b", "work.wirte"))
    model = ScriptedModel(replies=[write(scene, "a"), wrong, write(scene, "b"), "the answer"])
    agent = scene.agent(model=model)
    scene.ask(agent)
    scene.answer(agent, FEEDBACK)
    prompt = model.prompts[-1][-1].text
    assert "unknown_capability" in prompt
    assert "feedback: Write b instead" in prompt


def test_the_same_plan_after_feedback_is_asked_for_again(scene: Scene) -> None:
    agent = scene.agent(write(scene, "a"), write(scene, "a"), "the answer")
    scene.ask(agent)
    first = asked(scene, agent)
    scene.answer(agent, FEEDBACK)
    second = asked(scene, agent)
    assert second["plan_hash"] == first["plan_hash"]
    assert second["gate_id"] != first["gate_id"]
    assert scene.done == []
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["a"]


def test_without_a_replan_left_feedback_is_refused_and_the_gate_stays_open(scene: Scene) -> None:
    agent = scene.agent(
        write(scene, "a"), write(scene, "b"), "the answer", planning={"mode": "always", "replan_budget": 1}
    )
    scene.ask(agent)
    scene.answer(agent, FEEDBACK)
    (config,) = asked(scene, agent)["review_configs"]
    assert config["allowed_decisions"] == ["approve", "edit", "reject"]
    before = scene.everything()
    with pytest.raises(GateError, match="no re-plan is left") as refused:
        scene.answer(agent, FEEDBACK)
    assert refused.value.next_step.startswith("use edit: planwright edit gate_")
    assert refused.value.next_step.endswith(" · it takes: approve, edit, reject")
    assert scene.everything() == before
    assert scene.decide(agent, "approve")["status"] == "completed"


def test_the_events_of_a_response_name_what_was_said(scene: Scene) -> None:
    agent = scene.agent(write(scene, "a"), write(scene, "b"), "the answer")
    scene.ask(agent)
    scene.answer(agent, FEEDBACK)
    scene.decide(agent, "approve")
    resolved = [event["data"] for event in scene.journal() if event["type"] == "approval_resolved"]
    assert [(data["decision"], data["reason"]) for data in resolved] == [
        ("responded", "Write b instead"),
        ("approved", ""),
    ]


def test_a_planner_without_another_plan_ends_the_run_with_what_was_said(scene: Scene) -> None:
    agent = scene.agent(write(scene, "a"), '{"cannot": "there is no b"}')
    scene.ask(agent)
    output = scene.answer(agent, FEEDBACK)
    assert (output["status"], scene.done) == ("rejected", [])
    assert "Write b instead" in output["answer"]
    assert "there is no b" in output["answer"]


def test_feedback_in_one_process_is_approved_in_another(scene: Scene) -> None:
    first = scene.child(scene.entry(message="Do it"), replies=[write(scene, "a")])
    assert first["outputs"][0]["waiting"]
    second = scene.child(scene.entry(resume=FEEDBACK), replies=[write(scene, "b")])
    assert [step["id"] for step in second["outputs"][0]["waiting"][0]["shown"]["steps"]] == ["b"]
    third = scene.child(scene.entry(resume="approve"), replies=["the answer"])
    assert (third["outputs"][0]["status"], scene.done) == ("completed", ["b"])
