"""A run is cancelled: what runs finishes, the rest is skipped, and the thread stays usable."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage

from planwright.graph import door
from planwright.graph.errors import GateError, RunError, SetupError
from planwright.models.scripted import ScriptedModel
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


def ended(scene: Scene) -> dict[str, Any]:
    """Read how the newest run ended."""
    return scene.rows("SELECT status, answer, ended_at FROM runs ORDER BY rowid DESC")[0]


def test_a_run_that_waits_at_its_plan_is_cancelled_and_nothing_is_run(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.write", estimated_risk="Medium")), "not asked")
    scene.ask(agent)
    assert agent.cancel(scene.thread, by="ada") is True
    assert (ended(scene)["status"], scene.done) == ("cancelled", [])
    assert "ada" in ended(scene)["answer"]


def test_a_gate_of_a_cancelled_run_takes_no_answer(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.write", estimated_risk="Medium")))
    scene.ask(agent)
    gate = scene.waiting(agent)["plan"]
    agent.cancel(scene.thread)
    with pytest.raises(GateError):
        scene.answer(agent, {gate: "approve"})
    assert scene.rows("SELECT status FROM gates") == [{"status": "cancelled"}]


def test_steps_that_wait_for_a_gate_are_skipped_and_what_was_done_is_kept(scene: Scene) -> None:
    plan = scene.plan(
        scene.step("free", "work.read"),
        scene.step("gated", "work.wipe"),
        scene.step("after", "work.read", "gated"),
    )
    agent = scene.agent(plan, "not asked")
    scene.ask(agent)
    scene.decide(agent, "approve")
    agent.cancel(scene.thread)
    assert (ended(scene)["status"], scene.done) == ("cancelled", ["free"])
    statuses = {row["step_id"]: row["status"] for row in scene.rows("SELECT step_id, status FROM steps")}
    assert statuses == {"free": "completed", "gated": "skipped", "after": "skipped"}


def test_the_thread_of_a_cancelled_run_takes_the_next_request(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    agent = scene.agent(plan, '{"task": "again"}', plan, "the answer")
    scene.ask(agent)
    agent.cancel(scene.thread)
    scene.ask(agent, "again")
    assert scene.decide(agent, "approve")["status"] == "completed"


@pytest.fixture
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for a cancellation a hundred times a second, so that one second is plenty to notice it."""
    monkeypatch.setattr(door, "LOOK_S", 0.01)


@pytest.mark.usefixtures("look_often")
def test_what_runs_finishes_and_what_has_not_begun_is_skipped(scene: Scene) -> None:
    plan = scene.plan(scene.step("slow", "work.slow"), scene.step("after", "work.read", "slow"))
    agent, other = scene.agent(plan, "not asked"), scene.agent()
    running = threading.Thread(target=lambda: scene.ask(agent))
    running.start()
    scene.wait_for("began slow")
    other.cancel(scene.thread, by="another process")
    (scene.workspace / "cancelled").touch()
    running.join(PATIENCE_S)
    assert not running.is_alive()
    assert ended(scene)["status"] == "cancelled"
    assert scene.done == ["began slow", "slow"]


@pytest.mark.usefixtures("look_often")
def test_a_loop_is_cancelled_between_two_turns_and_its_history_stays_valid(scene: Scene) -> None:
    model = ScriptedModel(replies=[scene.calls(("work__slow", {"name": "slow"})), "not asked", "hello"])
    agent, other = scene.agent(model=model, planning={"mode": "auto"}), scene.agent()
    running = threading.Thread(target=lambda: scene.ask(agent, "be slow"))
    running.start()
    scene.wait_for("began slow")
    other.cancel(scene.thread)
    (scene.workspace / "cancelled").touch()
    running.join(PATIENCE_S)
    assert ended(scene)["status"] == "cancelled"
    assert len(model.asked) == 1
    scene.ask(agent, "hello?")
    assert [type(m) for m in model.asked[-1]].count(AIMessage) == 1


@pytest.mark.parametrize("ask", [True, False], ids=["ended", "unknown"])
def test_there_is_nothing_to_cancel(scene: Scene, ask: bool) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "the answer")
    if ask:
        scene.ask(agent)
    with pytest.raises(RunError):
        agent.cancel(scene.thread)


def test_a_new_message_may_cancel_what_waits(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    agent = scene.agent(plan, '{"task": "again"}', plan, "the answer", threads={"new_input": "cancel"})
    scene.ask(agent)
    scene.ask(agent, "rather this")
    statuses = [row["status"] for row in scene.rows("SELECT status FROM runs ORDER BY rowid")]
    assert statuses == ["cancelled", "waiting"]


@pytest.mark.parametrize("text", ["", "  ", "x" * 2_000_000])
def test_a_message_that_cannot_begin_a_run_cancels_nothing(scene: Scene, text: str) -> None:
    plan = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    agent = scene.agent(plan, threads={"new_input": "cancel"})
    scene.ask(agent)
    with pytest.raises(SetupError):
        scene.ask(agent, text)
    assert [row["status"] for row in scene.rows("SELECT status FROM runs")] == ["waiting"]


def test_the_events_of_a_cancelled_plan_say_so(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("gated", "work.wipe")), "not asked")
    scene.ask(agent)
    scene.decide(agent, "approve")
    agent.cancel(scene.thread)
    told = [event["type"] for event in scene.journal()]
    assert "plan_cancelled" in told
    assert "plan_complete" not in told


def test_the_gate_of_another_agent_is_told_of_as_cancelled(scene: Scene) -> None:
    delegate = scene.calls(("agent__delegate", {"task": "Wipe it", "tools": ["work.wipe"]}))
    model = ScriptedModel(replies=[delegate, scene.calls(("work__wipe", {"name": "w"})), "not asked"])
    agent = scene.agent(model=model, planning={"mode": "auto"})
    scene.ask(agent, "Delegate to agents: wipe, destroy")
    assert scene.waiting(agent)
    agent.cancel(scene.thread)
    told = [event for event in scene.journal() if event["type"].startswith("approval")]
    assert [event["type"] for event in told] == ["approval_requested", "approval_resolved"]
    assert told[1]["data"]["decision"] == "cancelled"
