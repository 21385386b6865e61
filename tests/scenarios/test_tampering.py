"""A state changed from outside never gets a call past the gateway that nobody approved.

LangGraph lets anybody with the graph, or with Studio, write into the state of a thread.
"""

from __future__ import annotations

import asyncio
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.types import Overwrite

from planwright.checkpoints.serde import AllowListedSerializer
from planwright.domain.errors import PlanwrightError
from planwright.domain.plan import Plan
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.models.scripted import ScriptedModel
from tests.opened_store import opened_store

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene


def step(name: str, **more: Any) -> dict[str, Any]:
    """Write a step that needs the plan's gate only."""
    written = {"id": "s1", "capability": "work.write", "params": {"name": name}}
    return {**written, "estimated_risk": "Medium", **more}


@pytest.fixture
def agent(scene: Scene) -> Agent:
    """Begin a run with one harmless step; it waits at its plan's gate."""
    agent = scene.agent(scene.plan(step("harmless")), "the answer")
    scene.ask(agent)
    return agent


def checked(agent: Agent, scene: Scene) -> VerifiedStep:
    """Read the one verified step of the plan from the state."""
    (found,) = agent.get_state(scene.config).values["checked"]
    assert isinstance(found, VerifiedStep)
    return found


def harmful(agent: Agent, scene: Scene) -> dict[str, Any]:
    """Make a plan and its verified step that nobody has seen, to be put in place of the real ones."""
    plan = Plan.model_validate({"goal": "Do it", "steps": [step("harmful")]})
    real = checked(agent, scene)
    return {"plan": plan, "checked": [real.model_copy(update={"step": plan.steps[0]})]}


def tamper(agent: Agent, scene: Scene, values: dict[str, Any], as_node: str) -> None:
    """Write values into the state, as if a node had returned them."""
    asyncio.run(agent.aupdate_state(scene.config, values, as_node=as_node))


def go_on(agent: Agent, scene: Scene) -> None:
    """Recover, whether or not the tampered run can still be brought to an end."""
    with suppress(PlanwrightError):
        scene.recover(agent)


@pytest.mark.parametrize("node", ["plan_gate", "plan_approval", "verify"])
def test_a_state_that_says_approved_runs_nothing(node: str, scene: Scene, agent: Agent) -> None:
    tamper(agent, scene, {"approved": True}, as_node=node)
    go_on(agent, scene)
    assert scene.done == []


@pytest.mark.parametrize("node", ["plan_gate", "plan_approval", "verify"])
def test_another_plan_in_the_state_does_not_run_unapproved(node: str, scene: Scene, agent: Agent) -> None:
    tamper(agent, scene, {**harmful(agent, scene), "approved": True}, as_node=node)
    go_on(agent, scene)
    assert scene.done == []


def test_another_plan_in_the_state_does_not_run_on_the_real_ones_approval(scene: Scene, agent: Agent) -> None:
    tamper(agent, scene, harmful(agent, scene), as_node="plan_gate")
    go_on(agent, scene)
    scene.decide(agent, "approve")
    assert scene.done == []


def test_other_arguments_under_the_approved_plan_do_not_run(scene: Scene, agent: Agent) -> None:
    swapped = {"checked": harmful(agent, scene)["checked"]}
    tamper(agent, scene, swapped, as_node="plan_gate")
    go_on(agent, scene)
    scene.decide(agent, "approve")
    assert scene.done == []


def test_a_gate_that_was_approved_before_does_not_open_a_new_plan(scene: Scene, agent: Agent) -> None:
    gate = scene.waiting(agent)["plan"]
    scene.decide(agent, "approve")
    second = scene.agent('{"task": "Do it again"}', scene.plan(step("again")), "the second answer")
    scene.ask(second, "Do it again")
    tamper(second, scene, {"gate_id": gate}, as_node="plan_gate")
    go_on(second, scene)
    assert scene.done == ["harmless"]


def test_the_approval_of_an_earlier_run_does_not_cover_the_same_plan_in_a_new_one(
    scene: Scene, agent: Agent
) -> None:
    earlier = agent.get_state(scene.config).values["run_id"]
    scene.decide(agent, "approve")
    same = scene.plan(step("harmless"))
    second = scene.agent('{"task": "Do it again"}', same, "the second answer")
    scene.ask(second, "Do it again")
    tamper(second, scene, {"run_id": earlier, "approved": True}, as_node="plan_approval")
    go_on(second, scene)
    assert scene.done == ["harmless"]


def test_a_step_made_ungated_in_the_state_still_needs_its_person(scene: Scene) -> None:
    agent = scene.agent(scene.plan(step("kept", capability="work.destroy")), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    ungated = checked(agent, scene).model_copy(update={"gated": False})
    tamper(agent, scene, {"checked": [ungated]}, as_node="dispatch")
    go_on(agent, scene)
    assert scene.done == []


def test_a_run_that_ended_does_not_run_again_by_its_state(scene: Scene, agent: Agent) -> None:
    scene.decide(agent, "reject")
    forged = {**harmful(agent, scene), "approved": True, "status": "running"}
    tamper(agent, scene, forged, as_node="plan_approval")
    go_on(agent, scene)
    assert scene.done == []


@pytest.fixture
def between(scene: Scene) -> tuple[Scene, Agent]:
    """Stop a run between a step that has a result and a gated one that refers to it."""
    reference = {"name": "log", "text": "{{steps.first.output.text}}"}
    first = scene.step("first", "work.read")
    agent = scene.agent(scene.plan(first, scene.step("log", "work.destroy", params=reference)), "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    return scene, agent


def edit_recorded_results(scene: Scene) -> int:
    """Write another output into every result that the checkpoint of this scene's thread holds."""
    serde, edited = AllowListedSerializer(), 0
    path = scene.workspace / ".planwright"
    query = (
        "SELECT hash, type, value FROM contents WHERE thread_id = :thread AND hash IN"
        " (SELECT value FROM writes WHERE thread_id = :thread AND channel = 'results' AND type = 'hash')"
    )
    with closing(opened_store(path)) as connection, connection:
        rows = connection.execute(query, {"thread": scene.thread}).fetchall()
        for digest, kind, value in rows:
            results: dict[str, StepResult] | Overwrite = serde.loads_typed((kind, value))
            if isinstance(results, Overwrite):
                continue
            forged = {
                uid: result.model_copy(update={"output": {"text": "forged", "turn": 1}})
                for uid, result in results.items()
            }
            connection.execute(
                "UPDATE contents SET value = ? WHERE hash = ?", (serde.dumps_typed(forged)[1], digest)
            )
            edited += 1
    return edited


def test_a_result_edited_in_the_checkpoint_does_not_change_the_approved_call(
    between: tuple[Scene, Agent],
) -> None:
    scene, agent = between
    assert edit_recorded_results(scene) > 0
    scene.decide(agent, "approve")
    assert scene.done == ["first", "log:first, reading 1"]


def test_a_result_edited_in_the_checkpoint_does_not_reach_the_answer(between: tuple[Scene, Agent]) -> None:
    scene, _ = between
    edit_recorded_results(scene)
    model = ScriptedModel(replies=["the answer"])
    scene.decide(scene.agent(model=model), "approve")
    assert "first, reading 1" in model.prompts[-1][1].text
    assert "forged" not in model.prompts[-1][1].text


def test_the_sync_form_of_update_state_works_like_the_async_one(scene: Scene, agent: Agent) -> None:
    agent.update_state(scene.config, {"answer": "noted"}, as_node="plan_gate")
    assert agent.get_state(scene.config).values["answer"] == "noted"
    agent.update_state(scene.config, {"approved": False}, as_node="plan_approval")
    assert agent.get_state(scene.config).next == ("planner",)
