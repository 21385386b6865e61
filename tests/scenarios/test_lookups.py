"""A process that dies in a queryable call: the receiver is asked, and a person only where it cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planwright.graph.agent import Agent

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


def killed(scene: Scene, where: str) -> Agent:
    """Kill the process in the transfer, before or after it has happened, and build another."""
    (scene.workspace / f"die-{where}").touch()
    said = scene.step("next", "work.read", params={"name": "{{steps.s1.output.text}}"})
    plan = scene.plan(scene.step("s1", "work.transfer"), said)
    scene.child(scene.entry(message="Do it"), replies=[plan], dies=True)
    return scene.agent("the answer")


def lookups(scene: Scene) -> list[tuple[str, str]]:
    told = [event["data"] for event in scene.journal() if event["type"] == "effect_lookup"]
    return [(data["step_id"], data["outcome"]) for data in told]


@pytest.mark.parametrize(("where", "outcome"), [("s1", "absent"), ("after s1", "found")])
def test_it_happens_once_wherever_the_process_died(scene: Scene, where: str, outcome: str) -> None:
    agent = killed(scene, where)
    output = scene.recover(agent)
    assert (output["status"], output["answer"]) == ("completed", "the answer")
    assert (scene.done.count("s1"), scene.done.count("looked for s1")) == (1, 1)
    assert scene.done[-1] == "s1 transferred"
    assert lookups(scene) == [("s1", outcome)]
    (effect,) = scene.rows("SELECT status, error FROM effects")
    assert effect == {"status": "done", "error": "found by its lookup" if outcome == "found" else ""}


def test_a_person_is_asked_where_the_receiver_cannot_tell(scene: Scene) -> None:
    agent = killed(scene, "after s1")
    (scene.workspace / "down").touch()
    scene.recover(agent)
    (asked,) = agent.get_state(scene.config).interrupts
    assert (asked.value["kind"], asked.value["shown"]["in_doubt"]) == ("escalation", ["s1"])
    assert "its lookup failed: the receiver is down" in asked.value["shown"]["args"]["s1"]
    assert (scene.done.count("s1"), lookups(scene)) == (1, [("s1", "unknown")] * 3)
    output = scene.decide(agent, "respond", '{"text": "s1 seen there", "turn": 1}')
    assert (output["status"], scene.done.count("s1"), scene.done[-1]) == ("completed", 1, "s1 seen there")


def test_a_receiver_that_comes_back_is_asked_in_time(scene: Scene) -> None:
    agent = killed(scene, "after s1")
    (scene.workspace / "down").write_text("once", "utf-8")
    scene.recover(agent)
    assert lookups(scene) == [("s1", "unknown"), ("s1", "found")]
    assert scene.done.count("s1") == 1
