"""What the policy denies is not made by another way, whoever approves of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import GateError
from planwright.models.scripted import ScriptedModel
from tests.scenarios.test_failures import results
from tests.scenarios.test_policy import policy

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

OFF: dict[str, Any] = {"alternative": {"enabled": False}}
DENY = 'match.capability = "work.post"\nwhen = \'args.name.startsWith("gone")\'\ndecide = "deny"'
ARGS = {"name": "gone"}
CHAIN = {"name": "do_it", "description": "do", "steps": [{"toolName": "work.post", "arguments": ARGS}]}
DENIED = ("failed", "forbidden")


@pytest.fixture(autouse=True)
def denied(scene: Scene) -> None:
    policy(scene, DENY)


def read_then_post(scene: Scene) -> str:
    """Plan a call whose arguments are known only when it is made."""
    source = scene.step("r", "work.read", params={"name": "gone"})
    return scene.plan(source, scene.step("s1", "work.post", params={"name": "{{steps.r.output.text}}"}))


def to_the_end(scene: Scene, agent: Any, output: dict[str, Any]) -> dict[str, Any]:
    """Approve whatever is asked, but what is left when nothing goes on."""
    for _ in range(8):
        if not output.get("__interrupt__"):
            break
        kind = output["__interrupt__"][0].value["kind"]
        output = scene.decide(agent, "reject" if kind == "escalation" else "approve")
    assert not output.get("__interrupt__")
    return output


def test_not_by_arguments_that_are_known_late_and_not_by_another_plan(scene: Scene) -> None:
    bad = scene.step("bad", "work.fail")
    first = json.loads(read_then_post(scene))
    first["steps"].append(bad)
    agent = scene.agent(json.dumps(first), read_then_post(scene), "told", **OFF)
    to_the_end(scene, agent, scene.ask(agent))
    assert results(scene)["s1"] == DENIED
    assert sorted(scene.done) == ["bad", "gone"]


@pytest.mark.parametrize("times", [1, 4])
def test_not_by_a_plan_that_names_it(scene: Scene, times: int) -> None:
    literal = scene.plan(scene.step("s1", "work.post", params=ARGS))
    agent = scene.agent(*[literal] * times, scene.plan(scene.step("r", "work.read")), "told", **OFF)
    to_the_end(scene, agent, scene.ask(agent))
    assert scene.rows("SELECT * FROM effects") == []
    assert set(scene.done) <= {"r"}


def test_not_by_an_agent_and_not_by_a_delegated_one(scene: Scene) -> None:
    agentic = {"id": "a", "description": "do it", "tool_hints": ["work.post", "agent.delegate"]}
    call = scene.calls(("work__post", ARGS))
    delegate = scene.calls(("agent__delegate", {"task": "do it", "tools": ["work.post"]}))
    model = ScriptedModel(
        replies=[scene.plan(agentic), call, delegate, call, "I may not", "it may not", "told"]
    )
    agent = scene.agent(model=model, **OFF)
    to_the_end(scene, agent, scene.ask(agent))
    told = [message.text for asked in model.prompts for message in asked if message.type == "tool"]
    assert any("the policy denies work.post" in text for text in told)
    assert scene.done == []


def test_not_by_a_chain_in_a_plan(scene: Scene) -> None:
    steps = [scene.step("m", "tool.create_chain", params=CHAIN), scene.step("c", "do_it", "m", params={})]
    agent = scene.agent(scene.plan(*steps), scene.plan(scene.step("r", "work.read")), "told", **OFF)
    to_the_end(scene, agent, scene.ask(agent))
    assert scene.done == ["r"]


def test_not_by_a_chain_in_the_loop(scene: Scene) -> None:
    made, called = scene.calls(("tool__create_chain", CHAIN)), scene.calls(("do_it", {}))
    agent = scene.agent(made, called, "told", planning={"mode": "auto"})
    to_the_end(scene, agent, scene.ask(agent, "do it"))
    assert scene.done == []


def test_not_by_an_alternative(scene: Scene) -> None:
    model = ScriptedModel(
        replies=[scene.plan(scene.step("s2", "work.spoil")), "told"],
        alternatives=['{"capability": "work.post", "params": {"name": "gone"}}'],
    )
    settings = {"planning": {"mode": "always", "replan_budget": 0}, "approval": {"plan": "never"}}
    agent = scene.agent(model=model, **settings)
    to_the_end(scene, agent, scene.ask(agent))
    assert (results(scene)["s2"][0], scene.done) == ("failed", ["s2"])


def test_not_by_an_edit(scene: Scene) -> None:
    agent = scene.agent(scene.plan(scene.step("w", "work.wipe")), "told", **OFF)
    (asked,) = scene.ask(agent)["__interrupt__"]
    plan = asked.value["action_requests"][0]["args"]["plan"]
    plan["steps"].insert(0, scene.step("again", "work.post", params=ARGS))
    edit = {"type": "edit", "edited_action": {"name": "approve_plan", "args": {"plan": plan}}}
    before = scene.everything()
    with pytest.raises(GateError, match=r"the policy denies work\.post"):
        scene.answer(agent, {"decisions": [edit]})
    assert scene.everything() == before


def test_not_by_the_yes_of_a_person_before_the_rule(scene: Scene) -> None:
    (scene.workspace / "policy.toml").unlink()
    gated = scene.step("s1", "work.post", params=ARGS, approval_mode="destructive")
    agent = scene.agent(scene.plan(gated), "told", **OFF)
    scene.ask(agent)
    scene.decide(agent, "approve")
    policy(scene, DENY)
    agent.close()
    agent = scene.agent(*["told"] * 4, **OFF)
    to_the_end(scene, agent, scene.decide(agent, "approve"))
    assert scene.done == []


def test_not_by_a_fork(scene: Scene) -> None:
    (scene.workspace / "policy.toml").unlink()
    agent = scene.agent(scene.plan(scene.step("s1", "work.post", params=ARGS)), "told", **OFF)
    to_the_end(scene, agent, scene.ask(agent))
    assert scene.done == ["gone"]
    policy(scene, DENY)
    agent.close()
    agent = scene.agent(*["told"] * 4, **OFF)
    scene.thread = str(agent.fork(scene.thread, rerun=["s1"])["configurable"]["thread_id"])
    to_the_end(scene, agent, scene.recover(agent))
    assert scene.done == ["gone"]
