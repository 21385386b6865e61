"""Decided effects in an undoing and in forks: what happened counts, and what did not happen does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import RunError
from planwright.graph.agent import Agent

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


def killed(scene: Scene, capability: str = "work.engrave_numbered") -> Agent:
    """Kill a run in a blind call, and come to the question whether it happened."""
    (scene.workspace / "die-a").touch()
    plan = scene.plan(scene.step("a", capability))
    scene.child(scene.entry(message="Do it"), replies=[plan], dies=True)
    agent = scene.agent("the answer")
    scene.recover(agent)
    return agent


def key(scene: Scene) -> str:
    return str(scene.rows("SELECT key FROM effects ORDER BY rowid")[0]["key"])[:12]


def say(scene: Scene, agent: Agent, **said: Any) -> dict[str, Any]:
    return scene.answer(agent, {"type": "respond", "effects": [{"key": key(scene), **said}]})


def undo_card(scene: Scene, agent: Agent) -> dict[str, Any]:
    config = agent.undo(scene.thread)
    (asked,) = agent.invoke(None, config)["__interrupt__"]
    card: dict[str, Any] = asked.value["shown"]
    return card


def test_what_happened_is_undone_by_what_the_person_said_came_of_it(scene: Scene) -> None:
    agent = killed(scene)
    say(scene, agent, happened=True, result={"text": "seen", "turn": 7})
    card = undo_card(scene, agent)
    first = card["steps"][0]
    assert (first["id"], first["params"]) == ("undo_a", {"name": "a", "turn": 7})
    assert "nobody knows" not in card["goal"]


def test_what_happened_without_a_known_result_is_not_undone_by_guessing(scene: Scene) -> None:
    agent = killed(scene)
    say(scene, agent, happened=True)
    with pytest.raises(RunError, match="can be undone"):
        agent.undo(scene.thread)


def test_what_did_not_happen_is_not_undone_and_what_was_done_instead_is(scene: Scene) -> None:
    agent = killed(scene, "work.engrave")
    say(scene, agent, happened=False)
    assert [row["status"] for row in scene.rows("SELECT status FROM effects ORDER BY rowid")] == [
        "failed",
        "done",
    ]
    card = undo_card(scene, agent)
    assert [step["id"] for step in card["steps"] if step["capability"] != "respond"] == ["undo_a"]
    assert scene.done == ["began a", "a"]


def late(scene: Scene, happened: bool) -> Agent:
    """Leave it at the gate, and decide after the end of the run."""
    agent = killed(scene, "work.engrave")
    assert scene.decide(agent, "reject")["status"] == "escalated"
    with pytest.raises(RunError, match="nobody knows whether step a"):
        agent.fork(scene.thread)
    agent.decide_effects(scene.thread, [{"key": key(scene), "happened": happened}], by="kim")
    return agent


def test_a_fork_keeps_what_is_known_to_have_happened(scene: Scene) -> None:
    agent = late(scene, happened=True)
    config = agent.fork(scene.thread)
    assert agent.invoke(None, config)["status"] == "completed"
    assert scene.done == ["began a"]


def test_a_fork_does_what_is_known_not_to_have_happened(scene: Scene) -> None:
    agent = late(scene, happened=False)
    config = agent.fork(scene.thread)
    assert agent.invoke(None, config)["status"] == "completed"
    assert scene.done == ["began a", "a"]
