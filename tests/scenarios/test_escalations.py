"""What nobody can settle but a person: steps in doubt, and grave steps that failed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import GateError
from planwright.graph.agent import Agent

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


def settings() -> dict[str, Any]:
    return {"approval": {"depth": "plan_and_gates"}}


def plan(scene: Scene, capability: str) -> str:
    """Plan a grave step, one that needs it and its words, and one that does not."""
    said = scene.step("next", "work.read", params={"name": "{{steps.s1.output.text}}"})
    return scene.plan(scene.step("s1", capability), said, scene.step("free", "work.read"))


def failed(scene: Scene, *replies: str) -> Agent:
    """Run a plan whose destructive step breaks down, up to the question what to do about it."""
    agent = scene.agent(plan(scene, "work.break"), *(replies or ("the answer",)), **settings())
    scene.ask(agent)
    scene.decide(agent, "approve")
    return agent


def in_doubt(scene: Scene) -> Agent:
    """Kill the process in a blind call, and recover up to the question whether it happened."""
    (scene.workspace / "die-s1").touch()
    scene.child(
        scene.entry(message="Do it"),
        scene.entry(resume="approve"),
        replies=[plan(scene, "work.destroy")],
        settings=settings(),
        dies=True,
    )
    agent = scene.agent("the answer", **settings())
    scene.recover(agent)
    return agent


def shown(scene: Scene, agent: Agent) -> dict[str, Any]:
    (asked,) = agent.get_state(scene.config).interrupts
    assert asked.value["kind"] == "escalation"
    card: dict[str, Any] = asked.value["shown"]
    return card


def count(scene: Scene) -> int:
    return sum(line == "s1" for line in scene.done)


def test_a_grave_step_that_failed_is_put_before_a_person(scene: Scene) -> None:
    card = shown(scene, failed(scene))
    assert "s1 broke down" in card["args"]["s1"]
    ended = {step["id"]: step["status"] for step in card["steps"]}
    assert ended == {"s1": "failed", "next": "skipped", "free": "completed"}


def test_it_is_run_again_when_the_person_says_so_and_at_its_own_gate(scene: Scene) -> None:
    agent = failed(scene)
    scene.decide(agent, "approve")
    assert count(scene) == 1
    assert scene.waiting(agent).keys() == {"s1"}
    output = scene.decide(agent, "approve")
    assert (output["status"], output["answer"]) == ("completed", "the answer")
    assert sorted(scene.done) == ["free", "s1", "s1", "s1 destroyed"]


def test_it_is_left_when_the_person_says_so(scene: Scene) -> None:
    agent = failed(scene)
    output = scene.decide(agent, "reject", "never mind")
    told = 'the answer\nOn record:\n- work.break "s1": nobody knows whether it happened'
    assert (output["status"], output["answer"]) == ("failed", told)
    assert count(scene) == 1


def test_another_plan_is_made_of_what_the_person_says_and_asked_for(scene: Scene) -> None:
    other = scene.plan(scene.step("s2", "work.wipe"))
    agent = failed(scene, other, "the answer")
    scene.decide(agent, "respond", "wipe it instead")
    assert scene.waiting(agent).keys() == {"plan"}
    assert scene.decide(agent, "approve")["answer"] == "the answer"
    assert "s2" in scene.done


def test_without_a_replan_left_words_are_refused_and_the_gate_stays_open(scene: Scene) -> None:
    options = settings() | {"planning": {"mode": "always", "replan_budget": 0}}
    agent = scene.agent(plan(scene, "work.break"), "the answer", **options)
    scene.ask(agent)
    scene.decide(agent, "approve")
    with pytest.raises(GateError, match="does not take `respond`"):
        scene.decide(agent, "respond", "something else")
    assert shown(scene, agent)


def test_nobody_knows_whether_it_happened_and_a_person_is_asked(scene: Scene) -> None:
    card = shown(scene, in_doubt(scene))
    assert card["in_doubt"] == ["s1"]
    assert count(scene) == 0


def test_it_happened_says_a_person_and_the_plan_goes_on_with_what_it_brought(scene: Scene) -> None:
    agent = in_doubt(scene)
    output = scene.decide(agent, "respond", json.dumps({"text": "seen at the receiver", "turn": 1}))
    assert (output["status"], output["answer"]) == ("completed", "the answer")
    assert count(scene) == 0
    assert "seen at the receiver" in scene.done
    assert scene.rows("SELECT status FROM effects") == [{"status": "done"}]


def test_it_did_not_happen_says_a_person_and_it_is_run_again_under_another_key(scene: Scene) -> None:
    agent = in_doubt(scene)
    scene.decide(agent, "approve")
    assert scene.waiting(agent).keys() == {"s1"}
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert count(scene) == 1
    effects = scene.rows("SELECT status, code FROM effects ORDER BY rowid")
    assert [tuple(row.values()) for row in effects] == [("failed", "did_not_happen"), ("done", "")]


def test_it_stays_in_doubt_when_the_person_leaves_it(scene: Scene) -> None:
    agent = in_doubt(scene)
    assert scene.decide(agent, "reject")["status"] == "escalated"
    assert count(scene) == 0
    assert scene.rows("SELECT status FROM effects") == [{"status": "in_doubt"}]


def test_the_answer_survives_a_crash_right_after_it(scene: Scene) -> None:
    agent = in_doubt(scene)
    shown(scene, agent)
    agent.close()
    scene.agents.remove(agent)
    words = {"type": "respond", "message": json.dumps({"text": "seen", "turn": 1})}
    replies = ["the answer"]
    scene.child(scene.entry(resume=words), replies=replies, settings=settings(), die_at="decision")
    later = scene.agent("the answer", **settings())
    assert scene.recover(later)["status"] == "completed"
    assert count(scene) == 0
    assert scene.done.count("seen") == 1


def test_a_mild_step_that_failed_is_put_before_a_person_too(scene: Scene) -> None:
    options = {"planning": {"mode": "always", "replan_budget": 0}}
    agent = scene.agent(scene.plan(scene.step("s1", "work.fail")), "the answer", **options)
    scene.ask(agent)
    card = shown(scene, agent)
    assert (card["approve"], card["undo"], card["steps"][0]["status"]) == ("again", [], "failed")
    assert scene.decide(agent, "reject")["status"] == "failed"


def test_without_a_model_nobody_is_asked_about_a_step_that_only_failed(scene: Scene) -> None:
    agent = scene.agent(model=None)
    output = scene.ask(agent, "Summarize nowhere.md and save the summary to summary.md")
    if scene.waiting(agent).keys() == {"plan"}:
        output = scene.decide(agent, "approve")
    assert output["status"] == "failed"
    assert scene.rows("SELECT verdict FROM verdicts") == [{"verdict": "escalate"}]
    assert {row["kind"] for row in scene.rows("SELECT kind FROM gates")} <= {"plan"}


UNUSABLE = {
    "no JSON": "I have no idea.",
    "there is none": '{"cannot": "there is no other way"}',
    "a tool that nobody has": '{"goal": "g", "steps": [{"id": "x", "capability": "work.nothing"}]}',
}


@pytest.fixture(params=UNUSABLE.values(), ids=list(UNUSABLE))
def unusable(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def stuck(scene: Scene, first: str, unusable: str) -> Agent:
    """Run a plan of which one step fails, with a model that then makes no plan that can be used."""
    broken = scene.step("bad", "work.fail", description="Read it")
    plan = scene.plan(scene.step("s1", first), broken)
    agent = scene.agent(plan, *[unusable] * 8, alternative={"enabled": False})
    scene.ask(agent)
    return agent


def test_without_another_plan_a_run_that_has_done_something_is_put_before_a_person(
    scene: Scene, unusable: str
) -> None:
    agent = stuck(scene, "work.engrave", unusable)
    card = shown(scene, agent)
    assert "there is no other plan" in card["reason"]
    assert card["undo"] == ["work.engrave (s1)"]
    assert {step["id"]: step["status"] for step in card["steps"]} == {"s1": "completed", "bad": "failed"}
    assert scene.decide(agent, "reject")["status"] == "failed"
    assert sorted(scene.done) == ["bad", "s1"]


def test_an_approval_there_runs_again_what_failed_and_keeps_what_is_done(scene: Scene, unusable: str) -> None:
    agent = stuck(scene, "work.engrave", unusable)
    scene.decide(agent, "approve")
    assert sorted(scene.done) == ["bad", "bad", "s1"]
    assert scene.decide(agent, "reject")["status"] == "failed"


def test_where_nothing_was_done_it_ends_as_it_is(scene: Scene, unusable: str) -> None:
    agent = stuck(scene, "work.read", unusable)
    assert not agent.get_state(scene.config).interrupts
    assert scene.rows("SELECT status FROM runs")[0]["status"] in ("failed", "refused")


def test_an_effect_that_went_on_without_what_failed_is_not_made_again_with_it(
    scene: Scene, unusable: str
) -> None:
    """Run again what failed, says the person: not what was done in spite of it, by a call and by a model."""
    bad = scene.step("bad", "work.fail", description="Read it")
    good = scene.step("good", "work.read")
    fixed = scene.step("fixed", "work.engrave", "good", "bad", on_failed_dependency="partial")
    left = {"id": "left", "capability": None, "description": "Engrave", "tool_hints": ["work.engrave"]}
    left |= {"depends_on": ["good", "bad"], "on_failed_dependency": "partial"}
    engraves = scene.calls(("work__engrave", {"name": "left"}))
    plan = scene.plan(good, bad, fixed, left)
    agent = scene.agent(plan, engraves, "Engraved.", *[unusable] * 8, alternative={"enabled": False})
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert sorted(scene.done) == ["bad", "bad", "fixed", "good", "left"]
    made = "SELECT status FROM steps WHERE step_id IN ('fixed', 'left')"
    assert scene.rows(made) == [{"status": "completed"}] * 2
    assert scene.decide(agent, "reject")["status"] == "failed"
