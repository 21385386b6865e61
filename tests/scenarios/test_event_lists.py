"""Recorded runs: the whole list of their events, and a journal that tells the same story."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.types import Command

pytestmark = pytest.mark.sqlite  # its stores last longer than a test

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

Play = Callable[["Scene"], list[dict[str, Any]]]
# One slot, so that the order of independent steps is the same in every run.
ONE_SLOT = {"max_parallel_steps": 1}

BEGIN = ["run_start", "user_message", "planning_decision"]
PLAN = ["llm_call", "plan_created", "plan_verified"]
STEP = ["plan_step_start", "plan_step_complete"]
END = ["agent_message", "budget_update", "run_end"]
ANSWER = ["llm_call", *END]


def stream(scene: Scene, agent: Agent, given: Any = "Do it") -> list[dict[str, Any]]:
    """Enter the graph and gather its events."""
    entered = {"messages": [("user", given)]} if isinstance(given, str) else given
    return list(agent.stream(entered, scene.config, stream_mode="custom"))


def simple_read(scene: Scene) -> list[dict[str, Any]]:
    """Read one thing, by a model that calls a tool."""
    call = scene.calls(("work__read", {"name": "s1"}))
    return stream(scene, scene.agent(call, "it says so", planning={"mode": "auto"}), "Read it")


def unknown_capability(scene: Scene) -> list[dict[str, Any]]:
    """Plan with a capability that does not exist, then with the one that was meant."""
    wrong, right = (scene.plan(scene.step("s1", name)) for name in ("work.reed", "work.read"))
    return stream(scene, scene.agent(wrong, right, "the answer"))


def failing(scene: Scene, **more: Any) -> list[dict[str, Any]]:
    """Let the second of two steps fail, with a dependent of it alone and one of both; it is left so."""
    steps = [
        scene.step("good", "work.read"),
        scene.step("bad", "work.fail", "good"),
        scene.step("only", "work.read", "bad"),
        scene.step("both", "work.read", "good", "bad"),
    ]
    once = {"mode": "always", "replan_budget": 0}
    agent = scene.agent(scene.plan(*steps, **more), "the answer", execution=ONE_SLOT, planning=once)
    return stream(scene, agent) + stream(scene, agent, Command(resume="reject"))


def failing_skip(scene: Scene) -> list[dict[str, Any]]:
    """The same with on_failed_dependency=skip."""
    return failing(scene, on_failed_dependency="skip")


def budget(scene: Scene) -> list[dict[str, Any]]:
    """Have fewer tokens than the first call may use."""
    return stream(scene, scene.agent("never asked", budgets={"run": {"tokens": 100}}))


def retry(scene: Scene) -> list[dict[str, Any]]:
    """Succeed at the second try."""
    flaky = scene.step("s1", "work.flaky", params={"name": "s1", "failures": 1})
    return stream(scene, scene.agent(scene.plan(flaky), "the answer"))


def replan(scene: Scene) -> list[dict[str, Any]]:
    """Plan again when every try of a step has failed; what succeeded is kept."""
    kept = scene.step("kept", "work.read")
    flaky = scene.step("s1", "work.flaky", "kept", params={"name": "s1", "failures": 99})
    other = scene.step("other", "work.read", "kept")
    agent = scene.agent(
        scene.plan(kept, flaky), scene.plan(kept, other), "the answer", execution={"step_retries": 0}
    )
    return stream(scene, agent)


def rejected(scene: Scene) -> list[dict[str, Any]]:
    """Reject a plan without a reason."""
    agent = scene.agent(scene.plan(scene.step("s1", "work.write", estimated_risk="Medium")))
    asked = stream(scene, agent)
    return asked + stream(scene, agent, Command(resume={"decisions": [{"type": "reject"}]}))


def rejected_twice(scene: Scene) -> list[dict[str, Any]]:
    """Reject a plan for a reason; the planner insists on the same one, which is not asked again."""
    agent = scene.agent(scene.plan(scene.step("s1", "work.write", estimated_risk="Medium")))
    asked = stream(scene, agent)
    decision = {"type": "reject", "message": "leave it"}
    return asked + stream(scene, agent, Command(resume={"decisions": [decision]}))


def gated_step(scene: Scene) -> list[dict[str, Any]]:
    """Approve a plan, recover, and approve the step that has a gate of its own."""
    agent = scene.agent(scene.plan(scene.step("s1", "work.destroy")), "the answer")
    events = stream(scene, agent)
    entries: list[Any] = [Command(resume="approve"), None, Command(resume="approve"), None]
    for given in entries:
        events += stream(scene, agent, given)
    return events


def edited(scene: Scene) -> list[dict[str, Any]]:
    """Edit a plan twice, then approve it."""
    agent = scene.agent(scene.plan(scene.step("s1", "work.write", estimated_risk="Medium")), "the answer")
    events = stream(scene, agent)
    for text in ("once", "twice"):
        plan = {"steps": [{"id": "s1", "params": {"name": "s1", "text": text}}]}
        action = {"name": "approve_plan", "args": {"plan": plan}}
        events += stream(scene, agent, Command(resume={"type": "edit", "edited_action": action}))
    return events + stream(scene, agent, Command(resume="approve"))


def responded(scene: Scene) -> list[dict[str, Any]]:
    """Respond to a plan; the next one is rejected."""
    plans = [scene.plan(scene.step(name, "work.write", estimated_risk="Medium")) for name in "ab"]
    agent = scene.agent(*plans)
    events = stream(scene, agent)
    events += stream(scene, agent, Command(resume={"type": "respond", "message": "b, please"}))
    return events + stream(scene, agent, Command(resume="reject"))


FAILED = [*BEGIN, *PLAN, "plan_start", *STEP, "plan_step_start", "llm_call", "plan_step_failed"]
LEFT = ["approval_requested", "approval_resolved"]
RUNS: dict[str, tuple[Play, list[str]]] = {
    "simple read": (
        simple_read,
        [*BEGIN, "llm_call", "tool_call_start", "tool_call_end", *ANSWER],
    ),
    "unknown capability": (
        unknown_capability,
        [*BEGIN, *PLAN, *PLAN, "plan_start", *STEP, "plan_complete", "step_scored", "verdict", *ANSWER],
    ),
    "failing step, partial": (
        failing,
        [*FAILED, "plan_step_start", "plan_step_skipped", "plan_step_complete"]
        + ["plan_failed", *["step_scored"] * 4, "verdict", *LEFT, *ANSWER],
    ),
    "failing step, skip": (
        failing_skip,
        [*FAILED, "plan_step_skipped", "plan_step_skipped"]
        + ["plan_failed", *["step_scored"] * 4, "verdict", *LEFT, *ANSWER],
    ),
    "put down at a limit": (budget, [*BEGIN]),
    "retry": (
        retry,
        [*BEGIN, *PLAN, "plan_start", "plan_step_start", "plan_step_retry", "plan_step_complete"]
        + ["plan_complete", "step_scored", "verdict", *ANSWER],
    ),
    "replan": (
        replan,
        [*BEGIN, *PLAN, "plan_start", *STEP, "plan_step_start", "llm_call", "plan_step_failed"]
        + ["plan_failed", "step_scored", "step_scored", "verdict"]
        + ["llm_call", "plan_repaired", *PLAN[1:], "plan_start", *STEP]
        + ["plan_complete", "step_scored", "step_scored", "verdict", *ANSWER],
    ),
    "rejected": (rejected, [*BEGIN, *PLAN, "approval_requested", "approval_resolved", *END]),
    "rejected, and proposed again": (
        rejected_twice,
        [*BEGIN, *PLAN, "approval_requested", "approval_resolved", *PLAN, *PLAN, *END],
    ),
    "edited twice, then approved": (
        edited,
        [*BEGIN, *PLAN, "approval_requested"]
        + ["plan_edited", "plan_verified", "approval_requested"] * 2
        + ["approval_resolved", "plan_start", *STEP, "plan_complete", "step_scored", "verdict", *ANSWER],
    ),
    "responded, then rejected": (
        responded,
        [*BEGIN, *PLAN, "approval_requested", "approval_resolved"]
        + [*PLAN, "approval_requested", "approval_resolved", *END],
    ),
    "gated step": (
        gated_step,
        [*BEGIN, *PLAN, "approval_requested", "approval_resolved", "plan_start"]
        + ["approval_requested", "approval_resolved", *STEP]
        + ["plan_complete", "step_scored", "verdict", *ANSWER],
    ),
}


@pytest.fixture(scope="module", params=RUNS)
def recorded(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    stage: Callable[[Path], Scene],
) -> Iterator[tuple[list[dict[str, Any]], list[str], Scene]]:
    """Play one run and keep what it streamed, what was expected, and its scene."""
    scene = stage(tmp_path_factory.mktemp("run"))
    play, expected = RUNS[request.param]
    yield play(scene), expected, scene
    for agent in scene.agents:
        agent.close()


def test_the_whole_list_of_events(recorded: Any) -> None:
    events, expected, _ = recorded
    assert [event["type"] for event in events] == expected


def test_the_journal_equals_what_was_streamed(recorded: Any) -> None:
    events, _, scene = recorded
    told = scene.journal()
    if told[-1]["type"] == "session_paused":  # of a run that is put down; written when its stream is over
        told.pop()
    assert told == events


def test_seq_counts_strictly_upwards(recorded: Any) -> None:
    numbers = [event["seq"] for event in recorded[0]]
    assert all(earlier < later for earlier, later in itertools.pairwise(numbers))


def test_every_event_is_an_envelope_of_plain_json(recorded: Any) -> None:
    events, _, scene = recorded
    for event in events:
        assert list(event) == ["v", "seq", "ts", "run_id", "thread_id", "type", "data"]
        assert (event["v"], event["thread_id"]) == (1, scene.thread)
        assert json.loads(json.dumps(event, allow_nan=False)) == event


def test_step_events_name_plan_goal_position_and_total(recorded: Any) -> None:
    for event in recorded[0]:
        if event["type"].startswith("plan_step_"):
            data = event["data"]
            assert data["plan_id"].startswith("plan_")
            assert data["goal"] == "Do it"
            assert 1 <= data["step_index"] <= data["total"]


def test_the_last_event_names_the_status_of_the_run(recorded: Any) -> None:
    events, _, scene = recorded
    (run,) = scene.rows("SELECT status FROM runs")
    assert events[-1]["data"].get("status", "budget_exceeded") == run["status"]  # one put down has no end


def test_the_journal_alone_rebuilds_the_conversation(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.read"))
    agent = scene.agent(plan, "one", '{"task": "And again"}', plan, "two")
    scene.ask(agent, "Do it")
    state = scene.ask(agent, "And again")
    told = [
        ("human" if event["type"] == "user_message" else "ai", event["data"]["content"])
        for event in scene.journal()
        if event["type"] in ("user_message", "agent_message")
    ]
    assert told == [("human", "Do it"), ("ai", "one"), ("human", "And again"), ("ai", "two")]
    spoken = [message for message in state["messages"] if message.type != "tool" and message.text]
    assert told == [(message.type, message.text) for message in spoken]
