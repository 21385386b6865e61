"""https://docs.langchain.com/oss/python/langgraph/durable-execution"""

from __future__ import annotations

from typing import Any

import pytest

from tests.documented.conftest import APPROVE, MESSAGE, Play, differs, loop_of, plan_of
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.long


@pytest.mark.parametrize("durability", ["exit", "async", "sync"])
def test_durability(typical: Play, durability: str) -> None:
    """`durability` may be `exit`, `async` or `sync`."""
    assert typical.ask(durability=durability)["answer"] == "the answer"
    assert typical.agent.get_state(typical.config).values["answer"] == "the answer"


@differs("`sync`: an effect is on record before it happens")
def test_default_durability(scene: Scene) -> None:
    """Without it, checkpoints are written `async`."""
    plan = scene.plan(scene.step("s1", "work.write"))
    (scene.workspace / "die-s1").touch()
    entry = scene.entry(message="Do it")
    scene.child(entry, replies=[plan, "the answer"], settings={"approval": {"plan": "never"}}, dies=True)
    assert [row["status"] for row in scene.rows("SELECT status FROM effects")] == ["intent"]


def test_resume_after_a_crash(scene: Scene) -> None:
    """After a crash, `invoke(None)` with the thread id goes on from the last checkpoint."""
    plan = scene.plan(scene.step("s1", "work.write"))
    (scene.workspace / "die-s1").touch()
    settings = {"approval": {"plan": "never"}}
    scene.child(scene.entry(message="Do it"), replies=[plan, "the answer"], settings=settings, dies=True)
    assert scene.recover(scene.agent("the answer", **settings))["answer"] == "the answer"
    assert scene.done == ["began s1", "s1"]


def test_resume_after_an_error(scene: Scene) -> None:
    """After an error, `invoke(None)` runs the node that failed again, and no node before it."""
    agent: Any = scene.agent(scene.plan(scene.step("s1", "work.read")), "the answer")
    closing = agent.stores.runs.end

    def broken(*_: Any) -> None:
        raise OSError("the network is down")

    agent.stores.runs.end = broken
    with pytest.raises(OSError, match="network"):
        agent.invoke(MESSAGE, scene.config)
    agent.stores.runs.end = closing
    nodes = [name for update in agent.stream(None, scene.config, stream_mode="updates") for name in update]
    assert nodes == ["session_close"]
    assert scene.done == ["s1"]


@differs(
    "where it cannot be reached, it is tried again, and then the run is paused, and says so: `invoke(None)` "
    "goes on"
)
@pytest.mark.parametrize("number", [1, 2, 4], ids=["first", "second", "last"])
def test_resume_after_an_error_of_the_provider(scene: Scene, number: int) -> None:
    """An error of a provider is raised; `invoke(None)` then asks the model again, and makes no call twice."""
    play = loop_of(scene, "r1", "r2", "r3", away=[number] * 100)
    assert play.ask()["status"] == "paused"
    assert scene.done == ["r1", "r2", "r3"][: number - 1]
    waiting = play.agent.get_state(play.config, subgraphs=True)
    assert (waiting.next, waiting.tasks[0].state.next) == (("agentic_loop",), ("llm_invoker",))
    assert play.model is not None
    restarted = scene.agent(*play.model.replies[number - 1 :], planning={"mode": "never"})
    output = restarted.invoke(None, play.config)
    assert (output["answer"], scene.done) == ("the answer", ["r1", "r2", "r3"])
    assert [message.type for message in output["messages"]] == play.types


@differs(
    "one that a reply makes it raise (`ValueError`, `LookupError`, `TypeError`, `AttributeError`) would come "
    "again: the run ends as `failed`, with the reason as its answer; what it did is kept, and a new message "
    "goes on"
)
@pytest.mark.sampled(4)
@pytest.mark.parametrize("error", [ValueError("a bug"), KeyError("a bug")], ids=repr)
@pytest.mark.parametrize("mode", ["never", "always"])
def test_an_error_that_would_come_again(scene: Scene, mode: str, error: Exception) -> None:
    """An error that the class of a model raises is raised by `invoke`, and `invoke(None)` goes on from it."""
    looping = mode == "never"
    play = (
        loop_of(scene, "r1", "r2", "r3", away=[3] * 100, error=error)
        if looping
        else plan_of(scene, away=[1] * 100, error=error)
    )
    output = play.ask()
    assert (output["status"], scene.done) == ("failed", ["r1", "r2"] if looping else [])
    assert "a bug" in output["answer"]
    assert "mend its class" in output["answer"]
    assert play.agent.invoke(None, play.config)["status"] == "failed"
    again = scene.agent("the answer", planning={"mode": "never"}).invoke(MESSAGE, play.config)
    assert (again["answer"], scene.done) == ("the answer", ["r1", "r2"] if looping else [])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("error", [RuntimeError("a bug"), NotImplementedError("a bug")], ids=repr)
@pytest.mark.parametrize("mode", ["never", "always"])
def test_an_error_that_says_nothing_of_the_reply(scene: Scene, mode: str, error: Exception) -> None:
    """An error of any other class is raised by `invoke`, and `invoke(None)` goes on from it."""
    play = (
        loop_of(scene, "r1", away=[2], error=error)
        if mode == "never"
        else plan_of(scene, away=[1], error=error)
    )
    with pytest.raises(type(error), match="a bug"):
        play.ask()
    output = play.agent.invoke(None, play.config)
    assert (output["status"], output["answer"]) == ("completed", "the answer")
    assert scene.done == [*play.calls]


def test_finished_tasks_are_not_repeated(waiting: Play) -> None:
    """What is recorded of a finished task is used when the graph goes on."""
    waiting.scene.answer(waiting.agent, APPROVE)
    before = waiting.scene.everything()
    assert waiting.agent.invoke(None, waiting.config)["answer"] == "the answer"
    assert waiting.scene.everything() == before


def test_nothing_to_resume(played: Play) -> None:
    """`invoke(None)` on a thread that has ended returns its state."""
    assert played.agent.invoke(None, played.config)["answer"] == "the answer"
    assert played.done == [*played.calls]
