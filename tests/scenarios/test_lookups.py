"""A process that dies in a queryable call: the receiver is asked, and a person only where it cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planwright.graph.agent import Agent
from planwright.upkeep.store_check import check_store
from tests.opened_store import store_url

pytestmark = pytest.mark.long

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
    assert "its lookup failed: the receiver is down" in asked.value["shown"]["effects"][0]["why"]
    assert (scene.done.count("s1"), lookups(scene)) == (1, [("s1", "unknown")] * 3)
    output = scene.decide(agent, "respond", '{"text": "s1 seen there", "turn": 1}')
    assert (output["status"], scene.done.count("s1"), scene.done[-1]) == ("completed", 1, "s1 seen there")


def test_a_receiver_that_comes_back_is_asked_in_time(scene: Scene) -> None:
    agent = killed(scene, "after s1")
    (scene.workspace / "down").write_text("once", "utf-8")
    scene.recover(agent)
    assert lookups(scene) == [("s1", "unknown"), ("s1", "found")]
    assert scene.done.count("s1") == 1


def cancelled(scene: Scene, agent: Agent) -> str:
    """Cancel the run of the killed process, and go on with it: only what is in doubt of it is left to do."""
    agent.cancel(scene.thread)
    scene.recover(agent)
    (run,) = scene.rows("SELECT status FROM runs")
    assert store_url() or check_store(scene.workspace / ".planwright") == []
    return str(run["status"])


@pytest.mark.parametrize(
    ("where", "outcome", "effect"), [("s1", "absent", "failed"), ("after s1", "found", "done")]
)
def test_a_cancelled_run_ends_as_cancelled_where_the_receiver_can_tell(
    scene: Scene, where: str, outcome: str, effect: str
) -> None:
    agent = killed(scene, where)
    done = scene.done.count("s1")
    assert cancelled(scene, agent) == "cancelled"
    assert (scene.done.count("s1"), scene.done.count("looked for s1")) == (done, 1)
    assert lookups(scene) == [("s1", outcome)]
    assert scene.rows("SELECT status FROM effects") == [{"status": effect}]
    (step,) = scene.rows("SELECT status FROM steps WHERE step_id = 's1'")
    assert step == {"status": "completed" if effect == "done" else "skipped"}


def test_a_cancelled_run_ends_as_escalated_where_it_cannot(scene: Scene) -> None:
    agent = killed(scene, "after s1")
    (scene.workspace / "down").touch()
    assert cancelled(scene, agent) == "escalated"
    assert (scene.done.count("s1"), lookups(scene)) == (1, [("s1", "unknown")] * 3)
    assert scene.rows("SELECT status FROM effects") == [{"status": "in_doubt"}]


def test_a_call_of_a_cancelled_loop_is_looked_up_too(scene: Scene) -> None:
    (scene.workspace / "die-after s1").touch()
    call = scene.calls(("work__transfer", {"name": "s1"}))
    never = {"planning": {"mode": "never"}, "approval": {"tool_risk": "High"}}
    scene.child(scene.entry(message="Transfer it"), replies=[call], settings=never, dies=True)
    assert cancelled(scene, scene.agent("not asked", **never)) == "cancelled"
    assert (scene.done.count("s1"), len(lookups(scene))) == (1, 1)
    assert scene.rows("SELECT status FROM effects") == [{"status": "done"}]
