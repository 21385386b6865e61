"""https://docs.langchain.com/oss/python/langgraph/use-subgraphs"""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from planwright.checkpoints.serde import AllowListedSerializer
from planwright.domain.errors import RunError
from tests.documented.conftest import APPROVE, MESSAGE, Play, differs, loop_of
from tests.scenarios.conftest import Scene

pytestmark = pytest.mark.long


class Whole(TypedDict, total=False):
    """The state of the parent."""

    messages: Annotated[list[AnyMessage], add_messages]
    answer: str
    notes: Annotated[list[str], operator.add]


def parent(*nodes: Any) -> Any:
    """Compile a parent of nodes in a row, with a checkpointer of its own."""
    graph: Any = StateGraph(Whole)
    names = [START, *(f"n{number}" for number in range(len(nodes))), END]
    for name, node in zip(names[1:], nodes, strict=False):
        graph.add_node(name, node)
    for pair in pairwise(names):
        graph.add_edge(*pair)
    return graph.compile(checkpointer=InMemorySaver(serde=AllowListedSerializer()))


def test_a_compiled_graph_is_a_node(typical: Play) -> None:
    """A compiled graph that shares keys with its parent is added as a node."""
    output = parent(typical.agent).invoke(MESSAGE, typical.config)
    assert output["answer"] == "the answer"
    assert output["messages"][-1].text == "the answer"


def test_called_from_a_node(typical: Play) -> None:
    """A graph with another schema is called from a node function, which translates."""

    def node(state: Whole) -> Whole:
        return {"notes": [typical.agent.invoke({"messages": state["messages"]})["answer"]]}

    assert parent(node).invoke(MESSAGE, typical.config)["notes"] == ["the answer"]


def test_interrupts_reach_the_parent(writing: Play) -> None:
    """An interrupt of a subgraph interrupts its parent, which is resumed."""
    app = parent(writing.agent)
    (waiting,) = app.invoke(MESSAGE, writing.config)["__interrupt__"]
    assert waiting.value["kind"] == "plan"
    assert app.invoke(Command(resume=APPROVE), writing.config)["answer"] == "the answer"
    assert writing.scene.done == ["s1"]


def test_state_of_the_subgraph(writing: Play) -> None:
    """`get_state(subgraphs=True)` shows the state of a subgraph while it is interrupted."""
    app = parent(writing.agent)
    app.invoke(MESSAGE, writing.config)
    (task,) = app.get_state(writing.config, subgraphs=True).tasks
    assert task.state.values["request"] == "Wipe it"


def test_stream_of_the_subgraph(typical: Play) -> None:
    """`subgraphs=True` streams what the nodes of a subgraph do, by its namespace."""
    chunks = list(parent(typical.agent).stream(MESSAGE, typical.config, subgraphs=True))
    inner = {name for namespace, update in chunks if namespace for name in update}
    assert {"planning", typical.node} <= inner


def test_custom_stream_of_the_subgraph(typical: Play) -> None:
    """What a subgraph writes to the custom stream reaches the stream of its parent."""
    chunks = parent(typical.agent).stream(MESSAGE, typical.config, stream_mode="custom", subgraphs=True)
    assert {"run_start", "run_end"} <= {event["type"] for _, event in chunks}


def test_the_parent_keeps_the_checkpoints(typical: Play) -> None:
    """A subgraph writes its checkpoints with the checkpointer of its parent."""
    app = parent(typical.agent)
    before = list(typical.agent.stores.saver.list(None))
    app.invoke(MESSAGE, typical.config)
    namespaces = {found.config["configurable"]["checkpoint_ns"] for found in app.checkpointer.list(None)}
    assert any(namespace.startswith("n0:") for namespace in namespaces)
    assert list(typical.agent.stores.saver.list(None)) == before


def test_a_subgraph_begins_anew_each_time(reading: Play) -> None:
    """By default a subgraph knows nothing of earlier calls but what its parent hands it."""
    app = parent(reading.agent)
    first = app.invoke(MESSAGE, reading.config)
    second = app.invoke({"messages": [("user", "again")]}, reading.config)
    assert (first["answer"], second["answer"]) == ("the answer", "another answer")
    assert [each.type for each in second["messages"]] == ["human", "ai", "tool", "ai"] * 2


@pytest.mark.parametrize("hands_over", [True, False])
@pytest.mark.parametrize("calls", [1, 3])
def test_two_in_a_row(scene: Scene, calls: int, hands_over: bool) -> None:
    """Several subgraphs follow each other in one parent, with words of its own between them or without."""
    first, second = ([f"{agent}{number}" for number in range(calls)] for agent in "ab")
    between = [lambda _: {"messages": [("user", "go on")]}] if hands_over else []
    app = parent(loop_of(scene, *first).agent, *between, loop_of(scene, *second).agent)
    output = app.invoke(MESSAGE, scene.config)
    assert scene.done == [*first, *second]
    one = [*["ai", "tool"] * calls, "ai"]
    assert [each.type for each in output["messages"]] == ["human", *one, *["human"] * hands_over, *one]


def test_two_plans_in_a_row(reading: Play) -> None:
    """Several subgraphs that plan follow each other in one parent."""
    scene = reading.scene
    second = scene.agent('{"task": "go on"}', scene.plan(scene.step("s2", "work.read")), "second answer")
    hand_over = lambda _: {"messages": [("user", "go on")]}  # noqa: E731
    output = parent(reading.agent, hand_over, second).invoke(MESSAGE, reading.config)
    assert output["answer"] == "second answer"
    assert scene.done == ["s1", "s2"]


@differs("it is refused when it is resumed: the answer does not say which of the calls it is for")
def test_called_twice_in_a_node(writing: Play) -> None:
    """A node function may call a graph several times."""

    def node(_: Whole) -> Whole:
        asks = ({"messages": [("user", text)]} for text in ("first", "second"))
        return {"notes": [writing.agent.invoke(ask)["answer"] for ask in asks]}

    app = parent(node)
    app.invoke(MESSAGE, writing.config)
    with pytest.raises(RunError, match="a node of its own"):
        app.invoke(Command(resume=APPROVE), writing.config)
