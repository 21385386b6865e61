"""lane: a step that is gated, left to an agent, or a chain has a subgraph of its own."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from planwright.state.invocation import invocation_of
from planwright.state.lane_state import LaneInput
from planwright.state.node import Node, Update


def lane(subgraph: CompiledStateGraph[Any, Any, Any, Any]) -> Node[LaneInput]:
    """Run a step in a lane of its own, with the lane's events on the outer stream."""

    async def lane(state: LaneInput, config: RunnableConfig) -> Update:
        invocation_of(config).speak_from_here()
        ended: Update = await subgraph.ainvoke(state, config)
        return ended

    return lane
