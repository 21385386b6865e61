"""Nodes and branches as LangGraph takes them at once.

Of a plain function LangGraph evaluates the type hints, those of its state's fields too, to find its input,
and reads the byte code, to find a subgraph in it (`StateGraph.add_node`, `find_subgraph_pregel`): 47 of the
64 ms in which an agent was opened. An object with `__call__` it takes as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, Generic, Protocol, TypeVar, get_args, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from planwright.state.invocation import invocation_of
from planwright.state.node import Node

Graph = StateGraph[Any, Any, Any, Any]
Compiled = CompiledStateGraph[Any, Any, Any, Any]
StateT = TypeVar("StateT")
UpdateT = TypeVar("UpdateT")
StateIn = TypeVar("StateIn", contravariant=True)


class Route(Protocol[StateIn]):
    """An async function from a state to the names of the nodes that come next, or what is sent to them."""

    __name__: str
    """Its name, by which LangGraph tells the branches of a node apart."""

    def __call__(self, state: StateIn) -> Awaitable[str | list[Send]]: ...


class _Node(Generic[StateT, UpdateT]):
    """A node that runs no subgraph."""

    def __init__(self, node: Node[StateT, UpdateT]) -> None:
        self._node = node

    async def __call__(self, state: StateT, config: RunnableConfig) -> UpdateT:
        invocation_of(config).check_writes()
        return await self._node(state, config)


class _Branch(Generic[StateT]):
    """What decides where to go after a node."""

    def __init__(self, choose: Route[StateT]) -> None:
        self._choose = choose
        self.__name__ = choose.__name__

    async def __call__(self, state: StateT) -> str | list[Send]:
        return await self._choose(state)


def add_node(
    graph: Graph, name: str, node: Node[StateT, UpdateT], input_schema: type[Any] | None = None
) -> None:
    """Add a node that runs no subgraph. Its input is the state of the graph, unless a schema is given."""
    graph.add_node(name, _Node(node), input_schema=input_schema or graph.state_schema)


def add_branch(graph: Graph, source: str, choose: Route[StateT], ends: Sequence[str] = ()) -> None:
    """Go on from a node to where `choose` says: to one of `ends`, or of the `Literal` that it returns."""
    names = ends or get_args(get_type_hints(choose)["return"])
    graph.add_conditional_edges(source, _Branch(choose), list(names))
