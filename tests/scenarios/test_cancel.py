"""A run is cancelled: what runs finishes, the rest is skipped, and the thread stays usable."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage

from planwright.domain.errors import GateError, RunError, SetupError
from planwright.graph.entry import watching
from planwright.models.scripted import ScriptedModel
from planwright.records.ownership.cancelling import cancel
from planwright.records.records import open_records
from planwright.records.runs import Run
from tests.opened_store import opened_store, store_url
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
    monkeypatch.setattr(watching, "LOOK_S", 0.01)


@pytest.mark.long
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


@pytest.mark.long
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
    assert len(model.prompts) == 1
    scene.ask(agent, "hello?")
    spoken = [message for message in model.prompts[-1] if isinstance(message, AIMessage) and message.text]
    (cancelled,) = spoken
    assert cancelled.text.startswith("Cancelled by")


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


def cancel_by(scene: Scene, which: str) -> Run:
    """Cancel a run by the records alone, as the command does."""
    with closing(open_records(scene.workspace / ".planwright", url=store_url())) as records:
        return asyncio.run(cancel(records, which, "ada"))


def test_a_run_is_cancelled_by_its_plan_without_opening_an_agent(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.write", estimated_risk="Medium")), "not asked")
    plan = scene.ask(agent)["plan"]
    run = cancel_by(scene, plan.plan_id)
    assert (run.status, run.answer, run.cancelled_by) == ("cancelled", "Cancelled by ada.", "ada")
    assert scene.rows("SELECT status FROM gates") == [{"status": "cancelled"}]
    assert [row["type"] for row in scene.rows("SELECT type FROM journal ORDER BY seq")][-2:] == [
        "agent_message",
        "run_end",
    ]
    with pytest.raises(RunError, match="has ended"):
        cancel_by(scene, run.run_id)
    with pytest.raises(GateError):
        scene.decide(agent, "approve")
    assert scene.done == []


def test_what_was_done_before_is_named_and_the_rest_is_never_done(scene: Scene) -> None:
    plan = scene.plan(scene.step("free", "work.read"), scene.step("gated", "work.wipe"))
    agent = scene.agent(plan, "not asked")
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert cancel_by(scene, scene.thread).answer == "Cancelled by ada.\nDone before: free."
    scene.recover(agent)
    assert scene.done == ["free"]


@pytest.mark.parametrize("way", ["message", "recover"])
def test_its_thread_is_closed_with_the_answer_on_record_by_whoever_opens_it_next(
    scene: Scene, way: str
) -> None:
    gated = scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))
    agent = scene.agent(gated, '{"task": "again"}', gated, "the answer")
    scene.ask(agent)
    cancelled = cancel_by(scene, scene.thread)
    if way == "recover":
        assert scene.recover(agent)["status"] == "cancelled"
    scene.ask(agent, "again")
    messages = agent.get_state(scene.config).values["messages"]
    assert [message.text for message in messages] == ["Do it", cancelled.answer, "again"]
    assert scene.decide(agent, "approve")["status"] == "completed"
    ends = scene.rows(
        "SELECT count(*) AS n FROM journal WHERE run_id = ? AND type = 'run_end'", cancelled.run_id
    )
    assert ends == [{"n": 1}]


def test_a_run_that_died_while_it_sent_an_effect_stays_open_until_that_is_looked_up(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.write", estimated_risk="Medium")), "not asked")
    scene.ask(agent)
    with (
        closing(opened_store(scene.workspace / ".planwright")) as connection,
        connection,
    ):
        connection.execute(
            "INSERT INTO effects (key, tenant, thread_id, run_id, step_uid, attempt, ordinal, capability,"
            " effect, args_hash, args, status, intended_at) SELECT 'k', tenant, thread_id, run_id, 'u', 1, 0,"
            " 'work.write', 'idempotent', 'h', '{}', 'intent', started_at FROM runs"
        )
    run = cancel_by(scene, scene.thread)
    assert (run.ended, run.cancelled_by) == (False, "ada")


def test_a_name_of_nothing_cancels_nothing(scene: Scene) -> None:
    scene.ask(scene.agent(scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))))
    with pytest.raises(RunError, match="there is no plan, run or thread plan_nope"):
        cancel_by(scene, "plan_nope")
    assert scene.rows("SELECT status FROM gates") == [{"status": "open"}]
