"""Attempts to get past an approval by writing into the state: LangGraph allows that, and nothing comes of it.

After each, what was forged is led on, with a recovery and with the approval of every gate that is still
open: nothing is done but what those gates have shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.errors import InvalidUpdateError
from langgraph.types import Command, StateUpdate

from planwright.domain.errors import PlanwrightError
from planwright.domain.plan import Plan
from planwright.domain.results import RunVerdict, StepResult
from planwright.state.agent_state import Attempts, PlanningDecision
from tests.scenarios.gated_runs import (
    GatedRun,
    agent_gate,
    call_gate,
    clearly_refused,
    plan_gate,
    reading_agent_gate,
    step_gate,
    two_gates,
    waiting_agent,
)

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

Gated = Callable[..., GatedRun]
Values = Callable[[GatedRun], dict[str, Any]]
NODES = (
    "session_event budget capability_routing tool_filter planning task_extraction classification planner"
    " verify plan_gate plan_approval dispatch direct_step lane score agentic_loop respond clarify consolidate"
).split()
LEADING = "planning planner verify plan_gate plan_approval dispatch lane score".split()
ALL_TOOLS = ["work.read", "work.write", "work.wipe", "work.destroy"]
AGENTIC = PlanningDecision(mode="never", score=0, planned=False, complex=False, agentic=True)


def completed(run: GatedRun) -> dict[str, StepResult]:
    """Results that say the first step is done."""
    first = run.state["checked"][0]
    name = first.step.capability or "agent"
    return {first.uid: StepResult(uid=first.uid, step_id=first.step.id, capability=name, status="completed")}


def approved(run: GatedRun) -> dict[str, Any]:
    """Everything that says a person has agreed."""
    return {"approved": True, "gate_id": "", "findings": [], "changes": [], "status": "running"}


def another_plan(run: GatedRun) -> dict[str, Any]:
    """A plan that nobody has seen, said to be approved."""
    return {**run.harmful(), **approved(run)}


def destructive_plan(run: GatedRun) -> dict[str, Any]:
    """A plan that destroys, its step said to need no gate."""
    return {**run.harmful("work.destroy"), **approved(run)}


def an_agent(run: GatedRun) -> dict[str, Any]:
    """The way of a simple request, with every tool there is."""
    return {**approved(run), "decision": AGENTIC, "tools": ALL_TOOLS, "plan": None}


FORGED: dict[str, tuple[Gated, Values]] = {
    "approved": (plan_gate, approved),
    "approved, over a step": (step_gate, approved),
    "approved, over an agent": (agent_gate, approved),
    "another plan": (plan_gate, another_plan),
    "a destructive plan": (plan_gate, destructive_plan),
    "an agent": (plan_gate, an_agent),
}
MORE: dict[str, tuple[Gated, str, Values]] = {
    "a step that is said to be ungated": (
        step_gate,
        "dispatch",
        lambda run: {"checked": [run.state["checked"][0].model_copy(update={"gated": False})]},
    ),
    "a step that is said to be done": (step_gate, "lane", lambda run: {"results": completed(run)}),
    "a step that is said to be harmless": (
        plan_gate,
        "verify",
        lambda run: {
            "checked": [run.state["checked"][0].model_copy(update={"risk": "None", "mode": "read_only"})]
        },
    ),
    "the gate of its plan for a step": (
        step_gate,
        "plan_gate",
        lambda run: {"gate_id": run.scene.rows("SELECT gate_id FROM gates")[0]["gate_id"]},
    ),
    "no gate": (plan_gate, "verify", lambda run: {"gate_id": ""}),
    "a gate that is not there": (plan_gate, "plan_gate", lambda run: {"gate_id": "gate_0000000000000000"}),
    "another run": (plan_gate, "plan_gate", lambda run: {"run_id": "run_0000000000000000"}),
    "a verdict": (
        plan_gate,
        "score",
        lambda run: {
            "verdict": RunVerdict(
                run_id=run.asked["run_id"],
                plan_id=run.state["plan"].plan_id,
                verdict="replan",
                reason="forged",
                step_scores=(),
            )
        },
    ),
    "attempts nobody made": (plan_gate, "planner", lambda run: {"attempts": Attempts(replans=-9, edits=7)}),
    "an empty plan": (plan_gate, "plan_gate", lambda run: {"plan": Plan(goal="x"), "checked": []}),
    "a run that is said to have ended": (plan_gate, "verify", lambda run: {"status": "completed"}),
    "more tools for an agent that reads": (
        reading_agent_gate,
        "plan_gate",
        lambda run: {"checked": run.hinted(*ALL_TOOLS)},
    ),
    "more tools for an agent, at its dispatch": (
        reading_agent_gate,
        "dispatch",
        lambda run: {"checked": run.hinted(*ALL_TOOLS)},
    ),
    "more tools for a simple request": (call_gate, "planning", lambda run: {"tools": ALL_TOOLS}),
    "a plan for a simple request": (
        call_gate,
        "verify",
        lambda run: {"plan": Plan.model_validate({"steps": [{"id": "s1", "capability": "work.wipe"}]})},
    ),
}


def lead_on(run: GatedRun) -> None:
    """Recover, which has no effect, then approve what is still asked for: that alone is done.

    A refusal is a clear one, but for a state in which nothing fits together; such a run is cancelled.
    """
    for entry in (lambda: run.scene.recover(run.agent), run.finish):
        assert run.scene.done == []
        try:
            entry()
        except PlanwrightError as refused:
            clearly_refused(refused)
        except (AssertionError, KeyError):
            run.agent.loop.call(lambda: run.agent.door.control.cancel(run.scene.thread, "the test"))
            assert run.open_gates == []
    shown = run.scene.rows("SELECT shown FROM gates WHERE status = 'approved'")
    seen = "".join(row["shown"] for row in shown)
    assert run.scene.done in ([], run.allowed) or (run.scene.done == ["harmful"] and "harmful" in seen)
    assert shown or run.scene.done == []


@pytest.mark.sampled(16)
@pytest.mark.parametrize(
    ("name", "node"),
    [("approved", node) for node in NODES]
    + [(name, node) for name in FORGED for node in LEADING if name != "approved"],
)
def test_a_forged_state_has_no_effect(name: str, node: str, scene: Scene) -> None:
    gated, values = FORGED[name]
    run = gated(scene)
    run.tamper(values(run), node)
    lead_on(run)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", MORE)
def test_a_forged_fact_has_no_effect(name: str, scene: Scene) -> None:
    gated, node, values = MORE[name]
    run = gated(scene)
    run.tamper(values(run), node)
    lead_on(run)


@pytest.mark.parametrize("place", ["__input__", "__copy__", "__end__", "nowhere"])
def test_a_state_forged_at_a_place_of_langgraphs_own_has_no_effect(place: str, scene: Scene) -> None:
    run = plan_gate(scene)
    values = {"messages": [("user", "go on")], **approved(run)} if place == "__input__" else None
    with suppress(InvalidUpdateError):
        run.tamper(values, place)
    with suppress(PlanwrightError):
        scene.recover(run.agent)
    assert scene.done == []


def test_several_forged_updates_at_once_have_no_effect(scene: Scene) -> None:
    run = plan_gate(scene)
    steps = [[StateUpdate(approved(run), node)] for node in ("verify", "plan_approval", "dispatch")]
    with suppress(InvalidUpdateError):
        run.agent.bulk_update_state(scene.config, steps)
    lead_on(run)


def lane_of(run: GatedRun) -> tuple[str, dict[str, Any]]:
    """Find the namespace and the values of the loop that waits."""
    state = run.agent.get_state(run.scene.config, subgraphs=True)
    while state.tasks and (deeper := getattr(state.tasks[0], "state", None)) is not None:
        state = deeper
    return state.config["configurable"]["checkpoint_ns"], state.values


LANES: dict[str, Callable[[GatedRun, dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "more tools": lambda run, lane: (
        "llm_invoker",
        {"loop": lane["loop"].model_copy(update={"tools": tuple(ALL_TOOLS)})},
    ),
    "the main lane": lambda run, lane: (
        "llm_invoker",
        {"loop": lane["loop"].model_copy(update={"tools": tuple(ALL_TOOLS), "lane": "main"})},
    ),
    "no plan": lambda run, lane: (
        "llm_invoker",
        {"loop": lane["loop"].model_copy(update={"tools": tuple(ALL_TOOLS), "plan_hash": ""})},
    ),
    "calls that were approved": lambda run, lane: (
        "parallel_execution",
        {"calls": [call.model_copy(update={"error": ""}) for call in lane["calls"]]},
    ),
    "calls without a gate": lambda run, lane: (
        "llm_invoker",
        {
            "calls": [
                call.model_copy(update={"checked": call.checked.model_copy(update={"gated": False})})
                for call in lane["calls"]
            ]
        },
    ),
    "other arguments": lambda run, lane: (
        "parallel_execution",
        {
            "calls": [
                call.model_copy(
                    update={
                        "checked": call.checked.model_copy(
                            update={
                                "step": call.checked.step.model_copy(update={"params": {"name": "forged"}})
                            }
                        )
                    }
                )
                for call in lane["calls"]
            ]
        },
    ),
    "another batch": lambda run, lane: ("llm_invoker", {"batch": "0" * 64}),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("gated", [waiting_agent, call_gate])
@pytest.mark.parametrize("name", LANES)
def test_a_lane_with_a_forged_state_does_what_was_shown_or_nothing(
    name: str, gated: Gated, scene: Scene
) -> None:
    run = gated(scene)
    namespace, lane = lane_of(run)
    node, values = LANES[name](run, lane)
    config: Any = {"configurable": {**scene.config["configurable"], "checkpoint_ns": namespace}}
    asyncio.run(run.agent.aupdate_state(config, values, as_node=node))
    lead_on(run)


def test_a_resume_value_written_into_the_checkpoint_opens_no_gate(scene: Scene) -> None:
    run = two_gates(scene)
    snapshot = run.agent.get_state(scene.config)
    for task in snapshot.tasks:
        writes = [("__resume__", ["approve"])]
        run.agent.stores.saver.put_writes(snapshot.config, writes, task.id)
    scene.recover(run.agent)
    assert (scene.done, len(run.open_gates)) == ([], 2)
    run.finish()
    assert sorted(scene.done) == run.allowed


def test_the_approval_of_one_run_is_not_that_of_the_same_plan_in_another(scene: Scene) -> None:
    run = plan_gate(scene)
    there = type(scene)(scene.workspace)
    elsewhere = plan_gate(there)
    shown = elsewhere.plan_hash
    assert shown == run.plan_hash
    there.answer(elsewhere.agent, {"type": "approve", "plan_hash": shown})
    elsewhere.agent.close()
    done = list(scene.done)
    run.tamper({**approved(run), "run_id": elsewhere.state["run_id"]}, "plan_approval")
    with suppress(PlanwrightError):
        scene.recover(run.agent)
    assert scene.done == done == ["s1"]


def test_a_run_that_ended_by_a_forged_state_leaves_no_gate_that_could_be_approved(scene: Scene) -> None:
    run = plan_gate(scene)
    run.tamper(approved(run), "plan_approval")
    scene.recover(run.agent)
    assert run.open_gates == []
    with pytest.raises(PlanwrightError) as refused:
        run.agent.invoke(Command(resume="approve"), scene.config)
    clearly_refused(refused.value)
    assert scene.done == []
