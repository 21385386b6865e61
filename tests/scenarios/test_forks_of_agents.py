"""A fork in which a model makes the calls again: its effects are asked for, unless their step was named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.scenarios.test_fork import fork

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

WRITE = ("work__write", {"name": "w"})
AGENTIC = {"id": "look", "description": "Write", "tool_hints": ["work.write"], "estimated_risk": "Medium"}
MAKING = {
    "name": "write_it",
    "description": "Write",
    "steps": [{"toolName": "work.write", "arguments": {"name": "{{input.what}}"}}],
}
CHAIN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tool__create_chain", MAKING),
    ("write_it", {"what": "w"}),
)


def through(scene: Scene, agent: Agent, out: dict[str, Any]) -> list[str]:
    """Approve whatever asks; list what each gate gave as its reason."""
    reasons = []
    while "__interrupt__" in out:
        reasons += [str(asked.value["shown"].get("reason")) for asked in out["__interrupt__"]]
        out = scene.decide(agent, "approve")
    return reasons


def again(reasons: list[str]) -> list[str]:
    """List the reasons that name an earlier run."""
    return [reason for reason in reasons if reason.startswith("run run_")]


def test_an_agent_step_that_is_named_does_its_effects_again_without_more_questions(scene: Scene) -> None:
    call = scene.calls(WRITE)
    agent = scene.agent(scene.plan(AGENTIC), call, "written", "done", call, "written", "done")
    through(scene, agent, scene.ask(agent))
    assert again(through(scene, agent, fork(scene, agent, rerun=["look"]))) == []
    assert scene.done == ["w", "w"]


def test_an_agent_step_that_failed_asks_before_it_repeats_an_effect(scene: Scene) -> None:
    call = scene.calls(WRITE)
    limits = {"execution": {"max_tool_iterations": 1}, "planning": {"mode": "always", "replan_budget": 0}}
    agent = scene.agent(scene.plan(AGENTIC), call, "it failed", **limits)
    scene.ask(agent)
    scene.decide(agent, "approve")
    scene.decide(agent, "reject")  # the gate of the escalation
    assert scene.done == ["w"]
    agent = scene.agent(call, "written", "done")
    asked = again(through(scene, agent, fork(scene, agent)))
    assert [reason.endswith("has done this already") for reason in asked] == [True]
    assert scene.done == ["w", "w"]


def test_a_chain_asks_for_the_effects_it_would_repeat(scene: Scene) -> None:
    with (scene.workspace / "planwright.toml").open("a") as file:
        file.write("[tools]\ntop_k = 40\n")
    replies: list[Any] = [*(scene.calls(call) for call in CHAIN), "written"]
    agent = scene.agent(*replies, *replies, planning={"mode": "never"})
    through(scene, agent, scene.ask(agent, "Make a chain of tools that writes, and write"))
    asked = again(through(scene, agent, fork(scene, agent)))
    assert [reason.endswith("has called work.write already") for reason in asked] == [True]
    assert scene.done == ["w", "w"]
