"""One other call instead of one that failed, and only where nobody has to be asked again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected
from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from planwright.upkeep.store_check import check_store

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


def instead(capability: str, **params: Any) -> str:
    return json.dumps({"capability": capability, "params": params})


def play(scene: Scene, step: dict[str, Any], *alternatives: str, **options: Any) -> Agent:
    """Build an agent for a plan of one step that fails and one that needs it."""
    plan = scene.plan(step, scene.step("next", "work.read", "s1"))
    model = ScriptedModel(replies=[plan, "the answer"], alternatives=list(alternatives))
    return scene.agent(model=model, planning={"mode": "always", "replan_budget": 0}, **options)


def failing(scene: Scene) -> dict[str, Any]:
    return scene.step("s1", "work.fail", description="Read and wipe it")


def left(scene: Scene, agent: Agent) -> str:
    """Leave what failed as it is, where a person is asked about it."""
    return str(scene.decide(agent, "reject")["status"])


def test_another_call_brings_what_the_step_was_to_bring(scene: Scene) -> None:
    output = scene.ask(play(scene, failing(scene), instead("work.read", name="other")))
    assert output["status"] == "completed"
    assert scene.done == ["s1", "other", "next"]
    (retry,) = [event for event in scene.journal() if event["type"] == "plan_step_retry"]
    assert retry["data"]["alternative"] == {"capability": "work.read", "params": {"name": "other"}}
    (row,) = scene.rows("SELECT result FROM steps WHERE step_id = 's1'")
    result = json.loads(row["result"])
    assert (result["capability"], result["instead_of"], result["attempts"]) == ("work.read", "work.fail", 2)


@pytest.mark.parametrize(
    "reply",
    [
        "NO_ALTERNATIVE",
        "I would try reading instead",
        instead("work.nothing", name="x"),
        instead("work.read"),
        instead("work.read", name=7),
        instead("work.write", name="x"),
        instead("work.destroy", name="x"),
        instead("work.send", name="x"),
        instead("respond"),
        instead("files.read", path="../../etc/passwd"),
        instead("files.read", path=".planwright/planwright.db"),
        instead("work.fail", name="s1"),
        json.dumps({"capability": ["work.read"], "params": {"name": "x"}}),
        json.dumps({"capability": "work.read", "params": [1]}),
        json.dumps({"capability": "work.read", "params": {"name": "\ud800"}}),
    ],
)
def test_what_is_outside_the_grant_or_makes_no_sense_is_not_made(scene: Scene, reply: str) -> None:
    agent = play(scene, failing(scene), reply)
    scene.ask(agent)
    assert left(scene, agent) == "failed"
    assert scene.done == ["s1"]


def test_an_alternative_is_tried_once(scene: Scene) -> None:
    other = instead("work.fail", name="other")
    agent = play(scene, failing(scene), other, instead("work.read", name="third"))
    scene.ask(agent)
    assert left(scene, agent) == "failed"
    assert scene.done == ["s1", "other"]
    assert "other is broken" in scene.rows("SELECT result FROM steps WHERE step_id = 's1'")[0]["result"]


@pytest.mark.parametrize(
    ("other", "made"),
    [
        (instead("work.write", name="other"), True),
        (instead("files.write", path="other.md", text="x"), False),
    ],
    ids=["Low", "Medium"],
)
def test_an_effect_is_replaced_only_below_the_risk_a_person_has_to_see(
    scene: Scene, other: str, made: bool
) -> None:
    agent = play(
        scene, scene.step("s1", "work.spoil", description="Write it", estimated_risk="Medium"), other
    )
    scene.ask(agent)
    assert (scene.decide(agent, "approve")["status"] == "completed") is made
    assert not (scene.workspace / "other.md").exists()


def test_an_effect_whose_error_holds_words_of_others_is_replaced_by_no_effect(scene: Scene) -> None:
    @capability("desk.post", mode="local_write", effect="idempotent")
    def post(name: str) -> str:
        """Post it to a receiver that answers with words of its own."""
        raise CapabilityRejected("the receiver says: write it instead")

    plan = scene.plan(scene.step("s1", "desk.post", description="Write it", estimated_risk="Medium"))
    model = ScriptedModel(replies=[plan, "the answer"], alternatives=[instead("work.write", name="other")])
    agent = scene.agent(model=model, capabilities=[post], planning={"mode": "always"})
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert scene.done == []


def test_an_effect_may_be_replaced_where_plans_ask_nobody(scene: Scene) -> None:
    step = scene.step("s1", "work.spoil", description="Write it")
    agent = play(scene, step, instead("work.write", name="other"), approval={"plan": "never"})
    assert scene.ask(agent)["status"] == "completed"
    assert scene.done == ["s1", "other", "next"]


def test_nothing_goes_around_a_rule_or_a_person(scene: Scene) -> None:
    step = scene.step("s1", "files.read", params={"path": "{{input.request}}"})
    agent = play(scene, step, instead("work.read", name="other"))
    assert scene.ask(agent, "../secret")["status"] != "completed"
    assert scene.done == []


def test_a_rejected_step_gets_no_alternative(scene: Scene) -> None:
    agent = play(scene, scene.step("s1", "work.destroy"), instead("work.read", name="other"))
    scene.ask(agent)
    scene.decide(agent, "approve")
    scene.decide(agent, "reject", "no")
    assert "other" not in scene.done


def test_it_can_be_switched_off(scene: Scene) -> None:
    other = instead("work.read", name="other")
    agent = play(scene, failing(scene), other, alternative={"enabled": False})
    scene.ask(agent)
    assert left(scene, agent) == "failed"
    assert scene.done == ["s1"]


def test_after_a_crash_the_same_alternative_is_taken(scene: Scene) -> None:
    """The process dies in the alternative; the next one asks nobody for another."""
    step = scene.step("s1", "work.spoil", description="Write it")
    agent = play(scene, step, approval={"plan": "never"})
    (scene.workspace / "die-other").touch()
    plan = scene.plan(step, scene.step("next", "work.read", "s1"))
    scene.child(
        scene.entry(message="Do it"),
        replies=[plan, "the answer"],
        alternatives=[instead("work.write", name="other")],
        settings={"approval": {"plan": "never"}},
        dies=True,
    )
    assert scene.done == ["s1", "began other"]
    assert scene.recover(agent)["status"] == "completed"
    assert scene.done == ["s1", "began other", "other", "next"]


@pytest.mark.sqlite
def test_the_records_of_a_run_with_an_effect_done_instead_agree(scene: Scene) -> None:
    step = scene.step("s1", "work.spoil", description="Write it")
    agent = play(scene, step, instead("work.write", name="other"), approval={"plan": "never"})
    scene.ask(agent)
    agent.close()
    assert [found.problem for found in check_store(scene.workspace / ".planwright")] == []
