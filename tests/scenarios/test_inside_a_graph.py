"""Planwright as a node of a graph of the user's own, with that graph's saver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import pytest
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from planwright.checkpoints.serde import AllowListedSerializer

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene


class Mine(TypedDict, total=False):
    """The state of the user's graph."""

    messages: Annotated[list[AnyMessage], add_messages]
    answer: str


class App:
    """A graph that hands its messages to an agent."""

    def __init__(self, scene: Scene, *replies: Any, **options: Any) -> None:
        graph = StateGraph(Mine)
        graph.add_node("agent", scene.agent(*replies, **options))
        graph.add_edge(START, "agent")
        graph.add_edge("agent", END)
        self.graph = graph.compile(checkpointer=InMemorySaver(serde=AllowListedSerializer()))
        self.config = scene.config

    def send(self, given: Any) -> dict[str, Any]:
        """Enter the user's graph."""
        entered: Any = {"messages": [("user", given)]} if isinstance(given, str) else given
        output: dict[str, Any] = self.graph.invoke(entered, self.config)
        return output


def asked(output: dict[str, Any]) -> dict[str, Any]:
    """Read what a gate asks."""
    value: dict[str, Any] = output["__interrupt__"][0].value
    return value


def gated(scene: Scene) -> str:
    return scene.plan(scene.step("s1", "work.write", estimated_risk="Medium"))


def test_an_answer_that_names_its_gate_runs_the_plan_to_its_end(scene: Scene) -> None:
    app = App(scene, gated(scene), "the answer")
    gate = asked(app.send("Do it"))["gate_id"]
    output = app.send(Command(resume={"type": "approve", "gate_id": gate}))
    assert (output["answer"], scene.done) == ("the answer", ["s1"])
    assert output["messages"][-1].text == "the answer"


def test_the_run_waits_on_record_so_that_any_door_sees_it(scene: Scene) -> None:
    App(scene, gated(scene)).send("Do it")
    assert scene.rows("SELECT status FROM runs") == [{"status": "waiting"}]


@pytest.mark.parametrize("answer", [True, "approve", {"type": "approve", "gate_id": "gate_0"}], ids=str)
def test_an_answer_that_does_not_name_the_gate_is_asked_for_again(scene: Scene, answer: Any) -> None:
    app = App(scene, gated(scene), "the answer")
    gate = asked(app.send("Do it"))["gate_id"]
    again = asked(app.send(Command(resume=answer)))
    assert (again["gate_id"], scene.done) == (gate, [])
    assert gate in again["refused"]
    assert app.send(Command(resume={"type": "approve", "gate_id": gate}))["answer"] == "the answer"


def test_a_rejection_runs_nothing(scene: Scene) -> None:
    app = App(scene, gated(scene))
    gate = asked(app.send("Do it"))["gate_id"]
    output = app.send(Command(resume={"type": "reject", "gate_id": gate}))
    assert "rejected" in output["answer"]
    assert scene.done == []


def test_no_gate_takes_the_answer_of_the_one_before(scene: Scene) -> None:
    plan = scene.plan(scene.step("a", "work.wipe"), scene.step("b", "work.wipe", "a"))
    app = App(scene, plan, "the answer", approval={"plan": "never"})
    first = asked(app.send("Do it"))["gate_id"]
    output = app.send(Command(resume={"type": "approve", "gate_id": first}))
    assert scene.done == ["a"]
    second = asked(output)["gate_id"]
    assert app.send(Command(resume={"type": "approve", "gate_id": second}))["answer"] == "the answer"
    assert scene.done == ["a", "b"]


def test_a_second_request_on_the_thread_runs_in_full(scene: Scene) -> None:
    plan = scene.plan(scene.step("s1", "work.read"))
    app = App(scene, plan, "one", '{"task": "again"}', plan, "two")
    assert [app.send("Do it")["answer"], app.send("again")["answer"]] == ["one", "two"]
    assert scene.done == ["s1", "s1"]
