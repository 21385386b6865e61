"""Attempts to get past an approval in several steps, through Python: the last is refused, in a few words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.domain.errors import PlanwrightError
from planwright.domain.run_context import RunContext
from tests.scenarios.gated_runs import (
    GatedRun,
    call_gate,
    clearly_refused,
    plan_gate,
    planned_twice,
    step_gate,
    two_gates,
    waiting_agent,
)

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

Gated = Callable[..., GatedRun]
Move = Callable[[GatedRun], Any]
APPROVE: dict[str, Any] = {"decisions": [{"type": "approve"}]}
STALE = {"type": "approve", "plan_hash": "0" * 64}
YES: Command[Any] = Command(resume="approve")
UNKNOWN: RunnableConfig = {"configurable": {"thread_id": "a thread that nobody began"}}
WRITE = {"name": "s1", "text": "edited"}


def enter(run: GatedRun, given: Any, context: Any = None, **configurable: Any) -> Any:
    """Enter the graph on the thread of a run, with more in the config or other options."""
    config: Any = {"configurable": {**run.scene.config["configurable"], **configurable}}
    return run.agent.invoke(given, config, context=context)


def answer(run: GatedRun, *answers: Any) -> None:
    """Send some answers, one after the other."""
    for given in answers:
        run.scene.answer(run.agent, given)


def by_old_names(run: GatedRun, first: Any) -> None:
    """Answer once, then approve by the names of the gate that was open at first."""
    gate, interrupt, shown = run.gate, run.interrupt, run.plan_hash
    answer(run, first)
    for stale in ({gate: "approve"}, {interrupt: "approve"}, {"type": "approve", "gate_id": gate}):
        with pytest.raises(PlanwrightError):
            answer(run, stale)
    answer(run, {"type": "approve", "plan_hash": shown, "gate_id": gate})


def edited(run: GatedRun) -> Any:
    """Another text to write."""
    return run.edit(lambda plan: plan["steps"][0].update(params=WRITE))


def late(given: Callable[[GatedRun], Any]) -> Move:
    """Answer two hours after a gate of one hour was opened."""

    def move(run: GatedRun) -> None:
        named = given(run)
        run.clock.now += timedelta(hours=2)
        answer(run, named)

    return move


def cancelled(run: GatedRun) -> None:
    """Approve what was cancelled."""
    run.agent.cancel(run.scene.thread)
    answer(run, "approve")


def superseded(run: GatedRun) -> None:
    """Approve a gate whose run has given way to a new message."""
    gate = run.gate
    run.scene.ask(run.agent, "rather this")
    answer(run, {gate: "approve"})


def of_another_thread(name: Callable[[GatedRun], str]) -> Move:
    """Answer here what waits elsewhere, the same plan with the same hash."""

    def move(run: GatedRun) -> None:
        there = type(run.scene)(run.scene.workspace)
        elsewhere = plan_gate(there)
        try:
            answer(run, {name(elsewhere): "approve"})
        finally:
            elsewhere.agent.close()

    return move


def astream(run: GatedRun, given: Any) -> Any:
    """Stream an answer on an event loop of the caller's."""

    async def collect() -> list[Any]:
        return [chunk async for chunk in run.agent.astream(given, run.scene.config)]

    return asyncio.run(collect())


def events(run: GatedRun, given: Any) -> Any:
    """Send an answer for its LangChain events."""

    async def collect() -> list[Any]:
        return [event async for event in run.agent.astream_events(given, run.scene.config, version="v2")]

    return asyncio.run(collect())


def a_copy(run: GatedRun) -> Any:
    """Answer through a copy of the graph that is bound to its thread."""
    return run.agent.with_config(run.scene.config).invoke(Command(resume=STALE))


MOVES: dict[str, tuple[Gated, Move]] = {
    "approve twice": (plan_gate, lambda run: answer(run, "approve", "approve")),
    "approve a step twice": (step_gate, lambda run: answer(run, "approve", "approve")),
    "approve a call twice": (call_gate, lambda run: answer(run, "approve", "approve")),
    "approve after a rejection": (plan_gate, lambda run: answer(run, "reject", "approve")),
    "approve a step after its rejection": (step_gate, lambda run: answer(run, "reject", "approve")),
    "approve one gate twice while another is open": (
        two_gates,
        lambda run: answer(run, *[{run.gate: "approve"}] * 2),
    ),
    "approve what was cancelled": (plan_gate, cancelled),
    "approve a step of what was cancelled": (step_gate, cancelled),
    "approve a call of what was cancelled": (call_gate, cancelled),
    "approve what gave way to a new message": (
        lambda scene: plan_gate(scene, threads={"new_input": "cancel"}),
        superseded,
    ),
    "approve too late": (plan_gate, late(lambda run: "approve")),
    "approve too late by the gate": (plan_gate, late(lambda run: {run.gate: "approve"})),
    "approve too late by the interrupt": (plan_gate, late(lambda run: {run.interrupt: "approve"})),
    "approve too late by the hash": (
        plan_gate,
        late(lambda run: {"type": "approve", "plan_hash": run.plan_hash}),
    ),
    "edit too late": (plan_gate, late(edited)),
    "approve a step too late": (step_gate, late(lambda run: "approve")),
    "approve a call too late": (call_gate, late(lambda run: {run.gate: "approve"})),
    "approve the plan before its edit": (plan_gate, lambda run: by_old_names(run, edited(run))),
    "approve the plan before a response": (
        planned_twice,
        lambda run: by_old_names(run, {"type": "respond", "message": "the same again"}),
    ),
    "approve on a thread nobody began": (plan_gate, lambda run: run.agent.invoke(YES, UNKNOWN)),
    "recover a thread nobody began": (plan_gate, lambda run: run.agent.invoke(None, UNKNOWN)),
    "approve the gate of another thread": (plan_gate, of_another_thread(lambda run: run.gate)),
    "approve the interrupt of another thread": (plan_gate, of_another_thread(lambda run: run.interrupt)),
    "go to dispatch": (plan_gate, lambda run: enter(run, Command(goto="dispatch"))),
    "go to the step": (
        step_gate,
        lambda run: enter(run, Command(goto="direct_step", update={"approved": True})),
    ),
    "update the state": (plan_gate, lambda run: enter(run, Command(update={"approved": True}))),
    "approve and go": (plan_gate, lambda run: enter(run, Command(resume=APPROVE, goto="dispatch"))),
    "approve and update": (
        plan_gate,
        lambda run: enter(run, Command(resume=APPROVE, update={"checked": []})),
    ),
    "go to the parent": (plan_gate, lambda run: enter(run, Command(goto="x", graph=Command.PARENT))),
    "a command of nothing": (plan_gate, lambda run: enter(run, Command())),
    "no answer": (plan_gate, lambda run: enter(run, Command(resume=None))),
    "a message that says approve": (plan_gate, lambda run: run.scene.ask(run.agent, "approve")),
    "a message with a forged state": (
        plan_gate,
        lambda run: enter(run, {"messages": [("user", "go on")], "approved": True, "gate_id": ""}),
    ),
    "another tenant": (plan_gate, lambda run: enter(run, YES, {"tenant": "other"})),
    "another tenant, as an object": (plan_gate, lambda run: enter(run, YES, RunContext(tenant="other"))),
    "only for a rehearsal": (plan_gate, lambda run: enter(run, YES, {"dry_run": True})),
    "a gate that stays open": (plan_gate, lambda run: enter(run, YES, {"gate_ttl_s": 1_000_000})),
    "another provider": (plan_gate, lambda run: enter(run, YES, {"provider": "other"})),
    "another mode of planning": (plan_gate, lambda run: enter(run, YES, {"planning_mode": "never"})),
    "recover for another tenant": (plan_gate, lambda run: enter(run, None, {"tenant": "other"})),
    "answer inside a lane": (step_gate, lambda run: enter(run, YES, checkpoint_ns="lane:1")),
    "recover inside a lane": (waiting_agent, lambda run: enter(run, None, checkpoint_ns="agentic_loop:1")),
    "a stale hash through invoke": (plan_gate, lambda run: enter(run, Command(resume=STALE))),
    "a stale hash through stream": (
        plan_gate,
        lambda run: list(run.agent.stream(Command(resume=STALE), run.scene.config)),
    ),
    "a stale hash through astream": (plan_gate, lambda run: astream(run, Command(resume=STALE))),
    "a stale hash through the events": (plan_gate, lambda run: events(run, Command(resume=STALE))),
    "a stale hash through batch": (
        plan_gate,
        lambda run: run.agent.batch([Command(resume=STALE)], run.scene.config),
    ),
    "a stale hash through a copy": (plan_gate, a_copy),
    "a stale hash over a breakpoint": (
        plan_gate,
        lambda run: run.agent.invoke(
            Command(resume=STALE), run.scene.config, interrupt_after=["plan_approval"]
        ),
    ),
}


@pytest.mark.sampled(14)
@pytest.mark.parametrize("name", MOVES)
def test_a_way_around_is_refused_and_nothing_is_done_twice(name: str, scene: Scene) -> None:
    gated, move = MOVES[name]
    run = gated(scene)
    with pytest.raises(PlanwrightError) as refused:
        move(run)
    clearly_refused(refused.value)
    still = scene.done
    assert still in ([], run.allowed, run.allowed[:1])
    waiting = bool(run.open_gates)
    run.finish()
    expected = ["s1:edited"] if "its edit" in name else run.allowed
    assert scene.done == (expected if waiting else still)


@pytest.mark.parametrize("name", [name for name in MOVES if "too late" in name or "reject" in name])
def test_a_gate_that_has_closed_never_had_an_effect(name: str, scene: Scene) -> None:
    gated, move = MOVES[name]
    run = gated(scene)
    with pytest.raises(PlanwrightError):
        move(run)
    with pytest.raises(PlanwrightError):
        answer(run, "approve")
    run.scene.recover(run.agent)
    assert scene.done == []


@pytest.mark.parametrize("gated", [plan_gate, step_gate, call_gate])
def test_of_many_answers_at_the_same_moment_one_is_taken(gated: Gated, scene: Scene) -> None:
    run = gated(scene)
    agents = [run.agent, *(scene.agent("the answer", clock=run.clock) for _ in range(3))]
    gate, words = run.gate, ("approve", "reject", "approve", "reject")

    def send(number: int) -> str:
        try:
            scene.answer(agents[number], {gate: words[number]})
        except PlanwrightError as refused:
            clearly_refused(refused)
            return "refused"
        return "taken"

    with ThreadPoolExecutor(4) as pool:
        how = list(pool.map(send, range(4)))
    assert sorted(how) == ["refused"] * 3 + ["taken"]
    assert scene.done == (run.allowed if words[how.index("taken")] == "approve" else [])


def test_of_two_processes_that_answer_at_the_same_moment_one_is_taken(scene: Scene) -> None:
    replies = [scene.plan(scene.step("s1", "work.wipe")), "the answer"]
    settings = {"approval": {"depth": "plan"}}
    begun = scene.child(scene.entry(message="Do it"), replies=replies, settings=settings)
    asked = begun["outputs"][0]["waiting"][0]
    entry = scene.entry(resume={asked["gate_id"]: "approve"})
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda _: scene.child(entry, replies=["the answer"]), range(2)))
    outputs = [report["outputs"][0] for report in reports]
    assert sum("refused" in output for output in outputs) == 1
    assert [row["status"] for row in scene.rows("SELECT status FROM gates ORDER BY kind")] == [
        "approved",
        "open",
    ]
    assert scene.done == []
