"""Nodes and branches as LangGraph takes them at once.

Of a plain function LangGraph evaluates the type hints, those of its state's fields too, to find its input,
and reads the byte code, to find a subgraph in it (`StateGraph.add_node`, `find_subgraph_pregel`): 47 of the
64 ms in which an agent was opened. An object with `__call__` it takes as it is. What it reads of our own ones
is the same for all of them, and worked out once.

A superstep costs a checkpoint and about a millisecond of CPU, whatever its node does. So nodes of a sequence
are carried out one after the other within one; each node and each edge is declared all the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, get_args, get_type_hints
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.channels import BinaryOperatorAggregate
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send

from planwright.state.invocation import CONFIG_KEY, Invocation, invocation_of
from planwright.state.node import Node

Graph = StateGraph[Any, Any, Any, Any]
Compiled = CompiledStateGraph[Any, Any, Any, Any]
StateT = TypeVar("StateT")
UpdateT = TypeVar("UpdateT")
StateIn = TypeVar("StateIn", contravariant=True)
Values: TypeAlias = Any
"""State or update of a graph, a TypedDict."""


class Route(Protocol[StateIn]):
    """An async function from a state to the names of the nodes that come next, or what is sent to them."""

    __name__: str
    """Its name, by which LangGraph tells the branches of a node apart."""

    def __call__(self, state: StateIn) -> Awaitable[str | list[Send]]: ...


class _Node(Generic[StateT, UpdateT]):
    """A node that runs no subgraph."""

    __signature__: inspect.Signature
    """Parameters of a call, which `inspect.signature` takes from here."""

    def __init__(self, node: Node[StateT, UpdateT]) -> None:
        self._node = node

    async def __call__(self, state: StateT, config: RunnableConfig) -> UpdateT:
        invocation = invocation_of(config)
        invocation.check_writes()
        update = await self._node(state, config)
        await invocation.land()
        return update


class _Branch(Generic[StateT]):
    """What decides where to go after a node."""

    __signature__: inspect.Signature
    """Parameters of a call, which `inspect.signature` takes from here."""

    def __init__(self, choose: Route[StateT], in_sequence: bool) -> None:
        self._choose = choose
        self._in_sequence = in_sequence
        self.__name__ = choose.__name__

    async def __call__(self, state: StateT, config: RunnableConfig) -> str | list[Send]:
        if self._in_sequence and goes_on(config):
            return []  # its node says where to go
        return await self._choose(state)


def _read_once(called: Callable[..., object]) -> inspect.Signature:
    """Evaluate the hints of a `__call__`, as LangGraph would for each object, and give its signature."""
    called.__annotations__.update(get_type_hints(called))
    signature = inspect.signature(called)
    return signature.replace(parameters=list(signature.parameters.values())[1:])


for _class in (_Node, _Branch):
    _class.__signature__ = _read_once(_class.__call__)
_ENDS = WeakKeyDictionary[Callable[..., object], Sequence[str]]()


def _ends_of(choose: Route[StateT]) -> Sequence[str]:
    """List what the `Literal` names that a function returns."""
    if choose not in _ENDS:
        _ENDS[choose] = get_args(get_type_hints(choose)["return"])
    return _ENDS[choose]


def add_node(
    graph: Graph, name: str, node: Node[StateT, UpdateT], input_schema: type[Any] | None = None
) -> None:
    """Add a node that runs no subgraph. Its input is the state of the graph, unless a schema is given."""
    graph.add_node(name, _Node(node), input_schema=input_schema or graph.state_schema)


def add_branch(
    graph: Graph, source: str, choose: Route[StateT], ends: Sequence[str] = (), *, in_sequence: bool = False
) -> None:
    """Go on from a node to where `choose` says: to one of `ends`, or of the `Literal` that it returns."""
    names = ends or _ends_of(choose)
    graph.add_conditional_edges(source, _Branch(choose, in_sequence), list(names))


def goes_on(config: RunnableConfig) -> bool:
    """Say whether a node of a sequence goes on by itself; not where its state is changed from outside."""
    invocation = config["configurable"].get(CONFIG_KEY)
    return isinstance(invocation, Invocation) and not invocation.node_by_node


class NodeSequence:
    """Nodes of a graph that decide nothing a person or a model has a say in.

    The one that is entered goes on with those after it, as long as no model has been paid: its reply is to be
    durable first. It leaves with one update of all, and a Command that says where to go. Where a caller looks
    at single nodes (`Invocation.node_by_node`), each has a superstep of its own.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes: dict[str, Node[Values, Values]] = {}
        self._routes: dict[str, Route[Values]] = {}

    def add_node(
        self, name: str, node: Node[Values, Values], choose: Route[Values], ends: Sequence[str] = ()
    ) -> None:
        """Add a node, and the branch behind it: to one of `ends`, or of the `Literal` that it returns."""
        self._nodes[name], self._routes[name] = node, choose

        async def entered(state: Values, config: RunnableConfig) -> Values:
            return await self._carry_out(name, state, config)

        add_node(self._graph, name, entered)
        add_branch(self._graph, name, choose, ends, in_sequence=True)

    async def _carry_out(self, name: str, state: Values, config: RunnableConfig) -> Values:
        update, invocation = await self._nodes[name](state, config), invocation_of(config)
        if not goes_on(config):
            return update
        changed = self._plain(update)
        goal = await self._routes[name]({**state, **changed})
        while isinstance(goal, str) and goal in self._nodes and not invocation.paid:
            invocation.check_writes()
            changed |= self._plain(await self._nodes[goal]({**state, **changed}, config))
            goal = await self._routes[goal]({**state, **changed})
        return Command(update=changed, goto=goal)

    def _plain(self, update: Values) -> dict[str, object]:
        """Take an update whose values take the place of those before. Raises TypeError for others."""
        for key in update:
            if isinstance(self._graph.channels[key], BinaryOperatorAggregate):
                raise TypeError(f"a node in a sequence changes {key}, whose values are joined")
        return dict(update)


class Outline:
    """A graph that is written down stage by stage: the name of each, and where a run goes from there."""

    def __init__(self, graph: Graph, nodes: Mapping[str, Node[Values, Values]]) -> None:
        self._graph = graph
        self._nodes = nodes
        self._sequence = NodeSequence(graph)

    def stage(self, name: str, then: str | Route[Values], takes: type[Any] | None = None) -> None:
        """Add a stage with a superstep of its own; `takes` is the schema of its input, if not the state."""
        add_node(self._graph, name, self._nodes[name], takes)
        self._go_on(name, then)

    def at_once(self, name: str, then: Route[Values], ends: Sequence[str] = ()) -> None:
        """Add a stage that goes on in the same superstep, as long as no model has been paid."""
        self._sequence.add_node(name, self._nodes[name], then, ends)

    def subgraph(self, name: str, then: str | Route[Values]) -> None:
        """Add a stage that runs a graph of its own."""
        self._graph.add_node(name, self._nodes[name])
        self._go_on(name, then)

    def _go_on(self, name: str, then: str | Route[Values]) -> None:
        if isinstance(then, str):
            self._graph.add_edge(name, then)
        else:
            add_branch(self._graph, name, then)
