"""What a plan read before it was shown is read once, whatever comes of the plan, and of its process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from planwright.graph.entry import watching
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

ONE_SLOT = {"max_parallel_steps": 1}


def planned(scene: Scene, *more: dict[str, Any]) -> str:
    """Write a plan that reads twice, and writes what the first read brought."""
    text = {"name": "w", "text": "after {{steps.a.output.turn}}"}
    write = scene.step("w", "work.write", "a", params=text, estimated_risk="Medium")
    return scene.plan(scene.step("a", "work.read"), scene.step("b", "work.read"), write, *more)


def begun(scene: Scene, *replies: Any) -> Agent:
    """Begin a run, up to the gate of its plan."""
    agent = scene.agent(planned(scene), *(replies or ("the answer",)), execution=ONE_SLOT)
    scene.ask(agent)
    assert (list(scene.waiting(agent)), scene.done) == (["plan"], ["a", "b"])
    return agent


def shown(scene: Scene, agent: Agent) -> dict[str, Any]:
    """Read the plan that is shown at the one open gate."""
    (asked,) = agent.get_state(scene.config).interrupts
    plan: dict[str, Any] = asked.value["shown"]
    return plan


def brought(plan: dict[str, Any]) -> dict[str, Any]:
    """Map the steps of a card to what it says that they brought."""
    return {step["id"]: step["brought"] for step in plan["steps"] if "brought" in step}


def edit(scene: Scene, agent: Agent, id_: str, **params: str) -> dict[str, Any]:
    """Change the arguments of a step at the gate, and return what is shown then."""
    plan = shown(scene, agent)
    next(step for step in plan["steps"] if step["id"] == id_)["params"] = params
    action = {"name": "approve_plan", "args": {"plan": plan}}
    scene.answer(agent, {"decisions": [{"type": "edit", "edited_action": action}]})
    return shown(scene, agent)


def test_the_card_says_what_was_read_also_where_no_call_refers_to_it(scene: Scene) -> None:
    write = scene.step("w", "work.write", "a", estimated_risk="Medium")
    agent = scene.agent(scene.plan(scene.step("a", "work.read"), write), "the answer")
    scene.ask(agent)
    assert brought(shown(scene, agent)) == {"a": "a, reading 1"}
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["a", "w"]


def test_an_edit_of_what_is_written_reads_nothing_again(scene: Scene) -> None:
    agent = begun(scene)
    plan = edit(scene, agent, "w", name="w", text="new")
    assert (plan["revision"], brought(plan)) == (2, {"a": "a, reading 1", "b": "b, reading 1"})
    assert scene.done == ["a", "b"]
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["a", "b", "w:new"]


def test_an_edit_of_a_read_makes_that_one_and_is_shown_with_what_it_brought(scene: Scene) -> None:
    agent = begun(scene)
    plan = edit(scene, agent, "a", name="other")
    assert scene.done == ["a", "b", "other"]
    assert brought(plan) == {"a": "other, reading 1", "b": "b, reading 1"}
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["a", "b", "other", "w:after 1"]


def test_another_plan_after_a_no_reads_only_what_is_new(scene: Scene) -> None:
    more = scene.step("c", "work.read")
    milder = scene.step("m", "work.write", "c", params={"name": "m"}, estimated_risk="Medium")
    other = scene.plan(scene.step("a", "work.read"), more, milder)
    agent = begun(scene, other, "the answer")
    scene.decide(agent, "reject", "milder")
    assert brought(shown(scene, agent)) == {id_: f"{id_}, reading 1" for id_ in "abc"}
    assert scene.done == ["a", "b", "c"]
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["a", "b", "c", "m"]


def test_a_fork_at_the_gate_keeps_what_was_read_and_asks(scene: Scene) -> None:
    agent, source = begun(scene), scene.config
    scene.thread = agent.fork(scene.thread)["configurable"]["thread_id"]
    scene.recover(agent)
    assert (list(scene.waiting(agent)), scene.done) == (["plan"], ["a", "b"])
    assert shown(scene, agent)["done"].keys() == {"a", "b"}
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["a", "b", "w:after 1"]
    assert len(agent.get_state(source).interrupts) == 1


@pytest.mark.parametrize("job", ["plan", "step", "checkpoint", "gate"])
def test_a_process_that_dies_between_reading_and_asking_loses_no_question(job: str, scene: Scene) -> None:
    settings = {"execution": ONE_SLOT}
    scene.child(scene.entry(message="Do it"), replies=[planned(scene)], settings=settings, die_at=job)
    agent = scene.agent(planned(scene), "the answer", **settings)
    scene.recover(agent)
    assert scene.waiting(agent).keys() == {"plan"}
    assert [line for line in scene.done if line.startswith("w")] == []
    assert (set(scene.done), job in ("plan", "checkpoint") or scene.done.count("a") == 1) == (
        {"a", "b"},
        True,
    )
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert [line for line in scene.done if line.startswith("w")] == ["w:after 1"]


@pytest.mark.parametrize("number", range(7, 11))
def test_a_process_that_dies_short_of_a_checkpoint_asks_once(number: int, scene: Scene) -> None:
    settings = {"execution": ONE_SLOT}
    entry = scene.entry(message="Do it")
    scene.child(entry, replies=[planned(scene)], settings=settings, die_short_of=number)
    agent = scene.agent(planned(scene), "the answer", **settings)
    scene.recover(agent)
    assert scene.waiting(agent).keys() == {"plan"}
    assert scene.done == ["a", "b"]
    assert scene.decide(agent, "approve")["status"] == "completed"
    assert scene.done == ["a", "b", "w:after 1"]
    assert [row["n"] for row in scene.rows("SELECT count(*) AS n FROM gates")] == [1]


def test_a_cancel_at_the_gate_leaves_it_at_the_reading(scene: Scene) -> None:
    agent = begun(scene)
    assert agent.cancel(scene.thread, by="ada")
    (run,) = scene.rows("SELECT status, answer FROM runs")
    assert (run["status"], scene.done) == ("cancelled", ["a", "b"])
    assert "nothing was run" not in run["answer"]


@pytest.mark.long
def test_a_cancel_while_it_reads_asks_nobody(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LOOK_S", 0.01)
    write = scene.step("w", "work.write", "slow", estimated_risk="Medium")
    plan = scene.plan(scene.step("slow", "work.slow"), write)
    agent, other = scene.agent(plan, "not asked"), scene.agent()
    running = threading.Thread(target=lambda: scene.ask(agent))
    running.start()
    scene.wait_for("began slow")
    other.cancel(scene.thread, by="another process")
    (scene.workspace / "cancelled").touch()
    running.join(PATIENCE_S)
    assert not running.is_alive()
    (run,) = scene.rows("SELECT status FROM runs")
    assert (run["status"], scene.done) == ("cancelled", ["began slow", "slow"])
    assert scene.rows("SELECT * FROM gates") == []
