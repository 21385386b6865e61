"""The estimate on the card of a plan, before anybody approves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import GateError
from tests.scenarios.test_run_budgets import CostlyModel, roles

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

AGENTIC = {"id": "look", "description": "Look", "tool_hints": ["work.read"], "estimated_risk": "Medium"}


def card(output: dict[str, Any]) -> dict[str, Any]:
    """Read the estimate that a waiting run shows."""
    shown: dict[str, Any] = output["__interrupt__"][0].value["shown"]["estimate"]
    return shown


def test_a_plan_of_calls_is_estimated_with_its_answer(scene: Scene) -> None:
    steps = [scene.step("a", "work.write", estimated_risk="Medium"), scene.step("b", "work.read", "a")]
    shown = card(scene.ask(scene.agent(scene.plan(*steps))))
    assert (shown["tool_calls"], shown["model_calls"], shown["at_least"]) == (2, 1, False)
    assert shown["cost"] is None
    assert shown["run"]["model_calls"] == 2
    assert shown["run"]["tokens"] == 20 + shown["tokens"]


def test_a_step_of_a_model_makes_it_at_least_so_much(scene: Scene) -> None:
    plain = scene.plan(scene.step("a", "work.write", estimated_risk="Medium"))
    without = card(scene.ask(scene.agent(plain)))
    scene.thread = "another"
    shown = card(scene.ask(scene.agent(scene.plan(AGENTIC))))
    assert (shown["tool_calls"], shown["model_calls"], shown["at_least"]) == (0, 2, True)
    assert shown["tokens"] > without["tokens"]


def test_the_estimate_before_is_kept_for_the_end(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("a", "work.write", estimated_risk="Medium")), "done")
    shown = card(scene.ask(agent))
    scene.decide(agent, "approve")
    (end,) = [event["data"] for event in scene.journal() if event["type"] == "run_end"]
    assert end["estimated"] == shown["run"]
    assert (end["used"]["model_calls"], end["used"]["tokens"]) == (2, 40)


def test_an_edit_that_needs_more_than_is_left_is_refused_at_its_gate(scene: Scene) -> None:
    plan = scene.plan(scene.step("a", "work.write", estimated_risk="Medium"))
    model = CostlyModel(replies=[plan], tokens=9000)
    agent = scene.agent(model=model, budgets={"run": {"tokens": 9000 + 4096 + 400}})
    scene.ask(agent)
    long = {"steps": [{"id": "a", "description": "so long " * 500}]}
    action = {"name": "approve_plan", "args": {"plan": long}}
    with pytest.raises(GateError, match="budget_exceeded: 1 call of the model planned"):
        scene.answer(agent, {"type": "edit", "edited_action": action})
    assert list(scene.waiting(agent)) == ["plan"]


def test_a_plan_over_the_tokens_left_is_refused_before_it_runs(scene: Scene) -> None:
    model = CostlyModel(replies=[scene.plan(scene.step("a", "work.read"))], tokens=9000)
    output = scene.ask(scene.agent(model=model, budgets={"run": {"tokens": 12_000}}))
    verified = [event["data"] for event in scene.journal() if event["type"] == "plan_verified"]
    assert [finding["code"] for finding in verified[0]["findings"]] == ["budget_exceeded"]
    assert (output["status"], scene.done, roles(model)) == ("budget_exceeded", [], ["planner"])
