"""A second request on the same thread is a run of its own, even when its plan looks the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from planwright.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene


@pytest.fixture
def model(scene: Scene) -> ScriptedModel:
    """Two runs of the same plan, with the same ids, capabilities and arguments."""
    plan = scene.plan(scene.step("s1", "work.read"), scene.step("s2", "work.wipe", "s1"))
    return ScriptedModel(replies=[plan, "first answer", '{"task": "Do it again"}', plan, "second answer"])


@pytest.fixture
def agent(scene: Scene, model: ScriptedModel) -> Agent:
    """Play the first run to its end, and begin the second."""
    agent = scene.agent(model=model, approval={"order": "plan_first"})
    scene.ask(agent)
    scene.decide(agent, "approve")
    scene.decide(agent, "approve")
    assert scene.done == ["s1", "s2"]
    scene.ask(agent, "Do it again")
    return agent


def test_the_second_run_asks_for_its_own_approvals(scene: Scene, agent: Agent) -> None:
    assert (list(scene.waiting(agent)), scene.done) == (["plan"], ["s1", "s2"])
    scene.decide(agent, "approve")
    assert (list(scene.waiting(agent)), scene.done) == (["s2"], ["s1", "s2", "s1"])


def test_every_step_is_carried_out_again(scene: Scene, agent: Agent) -> None:
    scene.decide(agent, "approve")
    output = scene.decide(agent, "approve")
    assert scene.done == ["s1", "s2", "s1", "s2"]
    assert (output["status"], output["answer"]) == ("completed", "second answer")


def test_the_second_answer_is_written_from_the_new_results_alone(
    scene: Scene, agent: Agent, model: ScriptedModel
) -> None:
    scene.decide(agent, "approve")
    scene.decide(agent, "approve")
    prompt = model.prompts[-1][1].text
    assert "s1, reading 2" in prompt
    assert "s1, reading 1" not in prompt


def test_the_two_runs_have_effects_of_their_own(scene: Scene, agent: Agent) -> None:
    scene.decide(agent, "approve")
    scene.decide(agent, "approve")
    effects = scene.rows("SELECT DISTINCT run_id, key, status FROM effects")
    assert len({row["run_id"] for row in effects}) == len(effects) == 2
    assert {row["status"] for row in effects} == {"done"}
