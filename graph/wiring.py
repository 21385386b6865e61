"""Nodes and branches as LangGraph takes them at once.

Of a plain function LangGraph evaluates the type hints, those of its state's fields too, to find its input,
and reads the byte code, to find a subgraph in it (`StateGraph.add_node`, `find_subgraph_pregel`): 47 of the
64 ms in which an agent was opened. An object with `__call__` it takes as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, get_args, get_type_hints

from langchain_core.runnables import RunnableConfig
from langgraph.graph import StateGraph

from planwright.state.node import Node

Graph = StateGraph[Any, Any, Any, Any]


class _Node:
    """A node that runs no subgraph."""

    def __init__(self, node: Node[Any, Any]) -> None:
        self._node = node

    async def __call__(self, state: Any, config: RunnableConfig) -> Any:
        return await self._node(state, config)


class _Branch:
    """What decides where to go after a node."""

    def __init__(self, choose: Callable[[Any], Awaitable[Any]]) -> None:
        self._choose = choose
        self.__name__ = choose.__name__  # LangGraph tells the branches of a node apart by it

    async def __call__(self, state: Any) -> Any:
        return await self._choose(state)


def add_node(graph: Graph, name: str, node: Node[Any, Any], input_schema: type[Any] | None = None) -> None:
    """Add a node that runs no subgraph. Its input is the state of the graph, unless a schema is given."""
    graph.add_node(name, _Node(node), input_schema=input_schema or graph.state_schema)


def add_branch(
    graph: Graph, source: str, choose: Callable[[Any], Awaitable[Any]], ends: Sequence[str] = ()
) -> None:
    """Go on from a node to where `choose` says: to one of `ends`, or of the `Literal` that it returns."""
    names = ends or get_args(get_type_hints(choose)["return"])
    graph.add_conditional_edges(source, _Branch(choose), list(names))
