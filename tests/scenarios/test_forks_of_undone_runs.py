"""What was undone is not there any more: no fork keeps it, and nothing is undone under a fork that does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.domain.errors import RunError
from planwright.graph.agent import Agent

pytestmark = pytest.mark.long

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


def booked(scene: Scene, **options: Any) -> Agent:
    """Run a plan to its end: `b` reads what `a` has booked, `c` is beside them."""
    steps = (scene.step("a", "work.book"), scene.step("b", "work.read", "a"), scene.step("c", "work.book"))
    agent = scene.agent(scene.plan(*steps), *["the answer"] * 4, **options)
    scene.ask(agent)
    return agent


def asked(agent: Agent, config: RunnableConfig) -> Any:
    """Begin a run and return what its gate shows."""
    agent.invoke(None, config)
    (gate,) = agent.get_state(config).interrupts
    return gate.value["shown"]


def undo(agent: Agent, scene: Scene) -> None:
    config = agent.undo(scene.thread)
    asked(agent, config)
    assert agent.invoke(Command(resume="approve"), config)["status"] == "completed"


def test_a_fork_does_not_keep_what_was_undone_nor_do_it_again_unless_it_is_named(scene: Scene) -> None:
    agent = booked(scene)
    (scene.workspace / "keep-c").touch()
    config = agent.undo(scene.thread)
    asked(agent, config)
    agent.invoke(Command(resume="approve"), config)
    assert [line for line in scene.done if line.startswith("un")] == ["una 1"]
    assert agent.checkpoints(scene.thread)[0].kept_steps == ("c",)
    before = scene.everything()
    with pytest.raises(RunError, match=r"step a of run .* was undone") as refused:
        agent.fork(scene.thread, rerun=["b"])
    assert (refused.value.next_step, scene.everything()) == ("to do it again: --rerun a", before)
    output = agent.invoke(None, agent.fork(scene.thread, rerun=["a"]))
    assert output["status"] == "completed"
    assert [scene.done.count(name) for name in "abc"] == [2, 2, 1]


def test_a_fork_of_a_fork_does_not_keep_what_was_undone_of_the_first_run(scene: Scene) -> None:
    agent = booked(scene)
    first = agent.fork(scene.thread, rerun=["b"])
    assert agent.invoke(None, first)["status"] == "completed"
    undo(agent, scene)
    with pytest.raises(RunError, match=r"step a, c of run .* was undone"):
        agent.fork(str(first["configurable"]["thread_id"]))


def test_the_calls_of_an_agent_that_were_undone_are_not_kept(scene: Scene) -> None:
    step = {"id": "s1", "description": "Book x", "tool_hints": ["work.book"]}
    calls = scene.calls(("work__book", {"name": "x"}))
    agent = scene.agent(scene.plan(step), calls, "booked", *["the answer"] * 4, approval={"plan": "never"})
    scene.ask(agent)
    assert (scene.done, agent.checkpoints(scene.thread)[0].kept_steps) == (["x"], ("s1",))
    undo(agent, scene)
    with pytest.raises(RunError, match=r"step s1 of run .* was undone"):
        agent.fork(scene.thread)


def test_what_may_have_been_undone_is_not_kept_either(scene: Scene) -> None:
    back = {"capability": "work.engrave", "params": {"name": "{{input.name}}"}}
    booked = scene.plan(scene.step("a", "work.book", compensation=back))
    agent = scene.agent(booked, *["the answer"] * 3)
    scene.ask(agent)
    thread = "22222222-3333-4444-8555-666666666666"
    (scene.workspace / "die-a").touch()
    scene.child(
        {"how": "undo", "thread": scene.thread, "into": thread},
        {"how": "invoke", "thread": thread},
        {"how": "invoke", "thread": thread, "resume": "approve"},
        replies=["the answer"],
        dies=True,
    )
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    agent.invoke(None, config)
    assert agent.invoke(Command(resume="reject"), config)["status"] == "escalated"
    with pytest.raises(RunError, match=r"step a of run .* was undone, or may have been"):
        agent.fork(scene.thread)


def test_nothing_is_undone_under_a_fork_that_goes_on_with_it(scene: Scene) -> None:
    agent = booked(scene, approval={"plan": "always"})
    scene.decide(agent, "approve")
    fork = agent.fork(scene.thread, rerun=["b"])
    assert sorted(asked(agent, fork)["done"]) == ["a", "c"]
    before = scene.everything()
    with pytest.raises(RunError, match=r"is a fork that goes on with what run_.* has done") as refused:
        agent.undo(scene.thread)
    assert refused.value.next_step == f"end it first: planwright cancel {fork['configurable']['thread_id']}"
    assert scene.everything() == before
    assert agent.invoke(Command(resume="approve"), fork)["status"] == "completed"
    undo(agent, scene)


def test_a_fork_does_not_keep_what_is_being_undone(scene: Scene) -> None:
    agent = booked(scene)
    asked(agent, agent.undo(scene.thread))
    before = scene.everything()
    with pytest.raises(RunError, match=r"is undoing run_.*, and has not ended"):
        agent.fork(scene.thread)
    assert scene.everything() == before
    agent.fork(scene.thread, rerun=["a", "b", "c"])
