"""Who asked may not approve, where the policy says so: at every gate, door, quorum, fork and undoing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.types import Command

from planwright.domain.errors import GateError, SetupError
from planwright.domain.run_context import RunContext
from tests.scenarios.test_policy import approve_as, looped, policy

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from planwright.graph.agent import Agent
    from tests.scenarios.conftest import Scene

OTHERS = 'match.capability = "work.*"\ndecide = "ask"\nexclude_requester = true'
TWO = f"{OTHERS}\nquorum = 2"
NAMED = '\n[gates.release]\nexclude_requester = true\nreason = "it goes out"\n'
ADA = RunContext(requested_by="Ada")


def ask(scene: Scene, agent: Agent, context: RunContext | None = ADA) -> None:
    """Send a request, in somebody's name or in nobody's."""
    agent.invoke({"messages": [("user", "Wipe it")]}, scene.config, context=context)


def asked(scene: Scene, agent: Agent) -> Any:
    """Read what the one open gate asks."""
    (interrupt,) = agent.get_state(scene.config).interrupts
    return interrupt.value


def wiping(scene: Scene) -> Agent:
    """Build an agent whose model calls a tool that wipes something."""
    return looped(scene, scene.calls(("work__wipe", {"name": "w"})), "done")


def test_who_asked_is_refused_and_somebody_else_approves(scene: Scene) -> None:
    policy(scene, OTHERS)
    agent = wiping(scene)
    ask(scene, agent)
    value = asked(scene, agent)
    assert value["shown"]["policy"]["requester"] == "Ada"
    assert "remember" not in value
    before = scene.everything()
    for name in ("Ada", "ada", "\u200bADA "):
        with pytest.raises(GateError, match="is not for who asked, Ada, to approve") as refused:
            scene.answer(agent, approve_as(name))
        assert f"planwright approve {value['gate_id']}" in refused.value.next_step
    with pytest.raises(GateError, match="does not say whose it is"):
        scene.answer(agent, {"type": "approve"})
    assert scene.everything() == before
    scene.answer(agent, approve_as("ben"))
    assert scene.done == ["w"]


def test_who_asked_may_reject(scene: Scene) -> None:
    policy(scene, OTHERS)
    agent = wiping(scene)
    ask(scene, agent)
    scene.answer(agent, {"type": "reject", "decided_by": "Ada"})
    assert scene.done == []


def test_where_nobody_knows_who_asked_nobody_approves(scene: Scene) -> None:
    policy(scene, OTHERS)
    agent = wiping(scene)
    ask(scene, agent, None)
    for answer in ({"type": "approve"}, approve_as("ben"), approve_as("Ada")):
        with pytest.raises(GateError, match="nobody knows who asked"):
            scene.answer(agent, answer)
    assert scene.done == []


def test_whoever_goes_on_with_a_run_does_not_become_who_asked(scene: Scene) -> None:
    policy(scene, OTHERS)
    agent = wiping(scene)
    ask(scene, agent)
    resume: Command[str] = Command(resume=approve_as("Ada"))
    with pytest.raises(GateError, match="is not for who asked, Ada"):
        agent.invoke(resume, scene.config, context=RunContext(requested_by="ben"))
    assert scene.done == []


def test_a_quorum_never_counts_who_asked(scene: Scene) -> None:
    policy(scene, TWO)
    agent = wiping(scene)
    ask(scene, agent)
    scene.answer(agent, approve_as("ben"))
    with pytest.raises(GateError, match="is not for who asked"):
        scene.answer(agent, approve_as("Ada"))
    with pytest.raises(GateError, match="ben has approved"):
        scene.answer(agent, approve_as("ben"))
    assert scene.done == []
    scene.answer(agent, approve_as("cy"))
    assert scene.done == ["w"]


@pytest.mark.parametrize(("by", "left"), [("Ada", {"s1"}), ("python", {"s1"}), ("ben", set())])
def test_a_plan_that_who_asked_approves_opens_no_such_gate(scene: Scene, by: str, left: set[str]) -> None:
    policy(scene, 'match.capability = "work.wipe"\ndecide = "ask"\nexclude_requester = true')
    plan = scene.plan(scene.step("s1", "work.wipe"))
    agent = scene.agent(plan, "the answer", approval={"depth": "plan_and_gates"})
    ask(scene, agent)
    scene.answer(agent, approve_as(by))
    assert scene.waiting(agent).keys() == left
    assert scene.done == sorted({"s1"} - left)


def test_a_gate_that_a_plan_names_is_not_for_who_asked(scene: Scene) -> None:
    policy(scene, last='[[rule]]\ndecide = "allow"\n' + NAMED)
    step = scene.step("s1", "work.write", requires=["release"], estimated_risk="Medium")
    agent = scene.agent(scene.plan(step), "the answer")
    ask(scene, agent)
    (gate,) = asked(scene, agent)["shown"]["steps"][0]["gates"]
    assert gate["exclude_requester"] is True
    scene.answer(agent, approve_as("Ada"))  # of the plan, which is for anybody
    assert asked(scene, agent)["shown"]["policy"]["requester"] == "Ada"
    with pytest.raises(GateError, match="is not for who asked"):
        scene.answer(agent, approve_as("Ada"))
    assert scene.done == []
    scene.answer(agent, approve_as("ben"))
    assert scene.done == ["s1"]


def test_a_chain_is_not_for_who_asked_where_one_of_its_calls_is_not(scene: Scene) -> None:
    with (scene.workspace / "planwright.toml").open("a") as file:
        file.write("[tools]\ntop_k = 40\n")
    policy(
        scene,
        'match.capability = "work.read"\ndecide = "ask"\napprovers = ["Ada", "ben"]',
        'match.capability = "work.write"\ndecide = "ask"\nexclude_requester = true',
    )
    steps = [
        {"toolName": "work.read", "arguments": {"name": "r"}},
        {"toolName": "work.write", "arguments": {"name": "w"}},
    ]
    made = {"name": "row", "description": "Do it in a row", "steps": steps}
    calls = [scene.calls(("tool__create_chain", made)), scene.calls(("row", {}))]
    agent = looped(scene, *calls, "done")
    words = "Chain tools: read, write, wipe, destroy, send"  # the tags of what it needs
    agent.invoke({"messages": [("user", words)]}, scene.config, context=ADA)
    people = asked(scene, agent)["shown"]["policy"]
    assert (people["approvers"], people["requester"]) == (["Ada", "ben"], "Ada")
    with pytest.raises(GateError, match="is not for who asked"):
        scene.answer(agent, approve_as("Ada"))
    assert scene.done == []
    scene.answer(agent, approve_as("ben"))
    assert scene.done == ["r", "w"]


def test_a_gate_that_was_open_to_who_asked_does_not_count_once_it_may_not_be(scene: Scene) -> None:
    agent = wiping(scene)
    ask(scene, agent)
    policy(scene, OTHERS)
    later = looped(scene, "done")
    scene.answer(later, approve_as("Ada"))
    assert scene.done == []


def test_a_standing_approval_does_not_take_the_place_of_somebody_else(scene: Scene) -> None:
    policy(scene, 'match.capability = "work.*"\ndecide = "ask"')
    first = looped(scene, scene.calls(("work__write", {"name": "w"})), "done")
    ask(scene, first)
    scene.answer(first, {**approve_as("ben"), "remember": "always"})
    policy(scene, OTHERS)
    scene.thread = "another"
    second = looped(scene, scene.calls(("work__write", {"name": "w"})), "done")
    ask(scene, second)
    assert asked(scene, second)["shown"]["policy"]["requester"] == "Ada"
    assert scene.done == ["w"]


def test_of_a_fork_and_of_an_undoing_whoever_begins_it_has_asked(scene: Scene) -> None:
    policy(scene, OTHERS)
    plan = scene.plan(scene.step("s1", "work.write"))
    agent = scene.agent(plan, "the answer", "again")
    ask(scene, agent)
    while agent.get_state(scene.config).interrupts:
        scene.answer(agent, approve_as("ben"))
    (row,) = scene.rows("SELECT run_id FROM runs")
    ben = replace(ADA, requested_by="ben")
    forked = agent.fork(row["run_id"], rerun=["s1"], context=ben)
    agent.invoke(None, forked)
    rows = scene.rows("SELECT json_extract(context, '$.requested_by') AS asked FROM runs ORDER BY rowid")
    assert [entry["asked"] for entry in rows] == ["Ada", "ben"]
    nobodys = agent.fork(row["run_id"], rerun=["s1"])
    agent.invoke(None, nobodys)
    rows = scene.rows("SELECT json_extract(context, '$.requested_by') AS asked FROM runs ORDER BY rowid")
    assert [entry["asked"] for entry in rows] == ["Ada", "ben", ""]


@pytest.mark.parametrize("decide", ["allow", "deny"])
def test_nobody_is_excluded_where_nobody_is_asked(scene: Scene, decide: str) -> None:
    policy(scene, f'decide = "{decide}"\nexclude_requester = true')
    with pytest.raises(SetupError, match=f"nobody is asked where a rule says {decide}"):
        scene.agent("never asked")
