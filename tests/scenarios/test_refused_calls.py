"""What a person said no to is not made by another way."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from planwright.graph.agent import Agent
from planwright.models.scripted import ScriptedModel
from tests.scenarios.test_failures import results
from tests.scenarios.test_refusals import Clock

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

PLAN_FIRST: dict[str, Any] = {"approval": {"order": "plan_first"}}
OFF: dict[str, Any] = {"alternative": {"enabled": False}, **PLAN_FIRST}
ARGS = {"name": "gone"}
NO = ("rejected", "rejected")
CHAIN = {"name": "do_it", "description": "do", "steps": [{"toolName": "work.post", "arguments": ARGS}]}


def gated(scene: Scene, id_: str = "s1") -> dict[str, Any]:
    """Plan a call that asks only because this plan says so: another plan may leave that out."""
    return scene.step(id_, "work.post", params=ARGS, approval_mode="destructive")


def ungated(scene: Scene, id_: str = "s1") -> dict[str, Any]:
    return scene.step(id_, "work.post", params=ARGS)


def rejected(scene: Scene, *replies: Any, **options: Any) -> tuple[Agent, dict[str, Any]]:
    """Reject the call of a plan, another step of which fails, so that there is another plan."""
    first = scene.plan(gated(scene), scene.step("bad", "work.fail"))
    model = options.pop("model", ScriptedModel(replies=[first, *replies]))
    agent = scene.agent(model=model, **(OFF | options))
    scene.ask(agent)
    scene.decide(agent, "approve")
    assert scene.waiting(agent).keys() == {"s1"}
    return agent, scene.decide(agent, "reject", "not that")


@pytest.mark.parametrize("step", [gated, ungated])
@pytest.mark.parametrize("id_", ["s1", "s2"])
def test_not_by_another_plan(scene: Scene, step: Any, id_: str) -> None:
    agent, output = rejected(scene, scene.plan(step(scene, id_), scene.step("r", "work.read")), "told")
    while output.get("__interrupt__"):
        assert scene.waiting(agent).keys() == {"plan"}
        output = scene.decide(agent, "approve")
    assert (output["status"], results(scene)[id_]) == ("rejected", NO)
    assert scene.done == ["bad", "r"]


def test_not_by_arguments_that_come_out_the_same(scene: Scene) -> None:
    said = scene.step("r", "work.read", params={"name": "gone"})
    later = scene.step("s2", "work.post", params={"name": "{{steps.r.output.text}}"})
    first = scene.step("s1", "work.post", params={"name": "gone, reading 1"}, approval_mode="destructive")
    plan = scene.plan(first, scene.step("bad", "work.fail"))
    agent = scene.agent(plan, scene.plan(said, later), "told", **OFF)
    scene.ask(agent)
    scene.decide(agent, "approve")
    output = scene.decide(agent, "reject", "not that")
    assert (output["status"], results(scene)["s2"]) == ("rejected", NO)
    assert scene.done == ["bad", "gone"]


def test_not_by_an_agent_and_not_by_a_delegated_one(scene: Scene) -> None:
    hints = ["work.post", "agent.delegate"]
    agentic = {"id": "a", "description": "do it", "tool_hints": hints}
    call = scene.calls(("work__post", ARGS))
    delegate = scene.calls(("agent__delegate", {"task": "do it", "tools": ["work.post"]}))
    replies = [scene.plan(agentic), call, delegate, call, "I may not", "it may not", "told"]
    model = ScriptedModel(replies=[scene.plan(gated(scene), scene.step("bad", "work.fail")), *replies])
    _, output = rejected(scene, model=model)
    assert "__interrupt__" not in output
    told = [message.text for asked in model.prompts for message in asked if message.type == "tool"]
    assert any("not made: work.post was rejected" in text for text in told)
    assert scene.done == ["bad"]


def test_not_by_a_chain(scene: Scene) -> None:
    steps = [scene.step("m", "tool.create_chain", params=CHAIN), scene.step("c", "do_it", "m", params={})]
    _, output = rejected(scene, scene.plan(*steps), "told")
    assert "__interrupt__" not in output
    assert results(scene)["c"] == NO
    assert scene.done == ["bad"]


def test_a_rejected_chain_is_not_made_call_by_call(scene: Scene) -> None:
    made = scene.step("m", "tool.create_chain", params=CHAIN)
    chained = scene.step("c", "do_it", "m", params={}, approval_mode="destructive")
    agent = scene.agent(
        scene.plan(made, chained, scene.step("bad", "work.fail")), scene.plan(ungated(scene)), "told", **OFF
    )
    scene.ask(agent)
    scene.decide(agent, "approve")
    scene.decide(agent, "reject", "not that")
    assert results(scene)["s1"] == NO
    assert scene.done == ["bad"]


def test_not_by_an_alternative(scene: Scene) -> None:
    spoil = scene.step("s2", "work.spoil")
    instead = '{"capability": "work.post", "params": {"name": "gone"}}'
    model = ScriptedModel(
        replies=[scene.plan(gated(scene), scene.step("bad", "work.fail")), scene.plan(spoil)] + ["told"] * 4,
        alternatives=["NO_ALTERNATIVE", instead],
    )
    agent = scene.agent(model=model, planning={"mode": "always", "replan_budget": 1}, **PLAN_FIRST)
    scene.ask(agent)
    scene.decide(agent, "approve")
    scene.decide(agent, "reject", "not that")
    assert scene.decide(agent, "reject")["status"] == "failed"
    assert scene.done == ["bad", "s2"]


def test_not_by_an_edit(scene: Scene) -> None:
    agent, output = rejected(scene, scene.plan(scene.step("w", "work.wipe")), "told")
    (asked,) = output["__interrupt__"]
    plan = asked.value["action_requests"][0]["args"]["plan"]
    plan["steps"].insert(0, ungated(scene, "again"))
    edit = {"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan": plan}}}
    output = scene.answer(agent, {"decisions": [edit]})
    while output.get("__interrupt__"):
        assert "again" not in scene.waiting(agent)
        output = scene.decide(agent, "approve")
    assert results(scene)["again"] == NO
    assert scene.done == ["bad", "w"]


def test_a_fork_asks_for_it_again_and_does_it_when_it_is_approved(scene: Scene) -> None:
    agent = scene.agent(scene.plan(gated(scene), scene.step("r", "work.read")), "told", **OFF)
    scene.ask(agent)
    scene.decide(agent, "approve")
    scene.decide(agent, "reject", "not that")
    scene.thread = str(agent.fork(scene.thread)["configurable"]["thread_id"])
    scene.recover(agent)
    scene.decide(agent, "approve")
    assert scene.waiting(agent).keys() == {"s1"}
    scene.decide(agent, "approve")
    assert scene.done == ["r", "gone"]


def test_a_plan_of_a_fork_does_not_get_round_it(scene: Scene) -> None:
    first = scene.plan(gated(scene), scene.step("r", "work.read"))
    agent = scene.agent(first, "told", scene.plan(ungated(scene)), "told", **OFF)
    scene.ask(agent)
    scene.decide(agent, "approve")
    scene.decide(agent, "reject", "not that")
    scene.thread = str(agent.fork(scene.thread)["configurable"]["thread_id"])
    scene.recover(agent)
    scene.decide(agent, "respond", "another plan")
    assert scene.waiting(agent) == {}
    assert scene.done == ["r"]


def test_a_gate_that_expired_is_a_no_too(scene: Scene) -> None:
    clock = Clock()
    first = scene.plan(gated(scene), scene.step("bad", "work.fail"))
    settings = OFF | {"sessions": {"gate_ttl_s": 3600}}
    agent = scene.agent(first, scene.plan(ungated(scene, "s2")), "told", clock=clock, **settings)
    scene.ask(agent)
    scene.decide(agent, "approve")
    clock.now += timedelta(hours=2)
    scene.recover(agent)
    assert results(scene)["s2"] == NO
    assert scene.done == ["bad"]
