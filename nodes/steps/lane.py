"""lane: a step that is gated, left to an agent, or a chain has a subgraph of its own."""

from __future__ import annotations

from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from planwright.state.agent_state import AgentUpdate
from planwright.state.draining import parked_if_drained
from planwright.state.invocation import invocation_of
from planwright.state.lane_state import LaneInput
from planwright.state.node import Node


def lane(subgraph: CompiledStateGraph[Any, Any, Any, Any]) -> Node[LaneInput, AgentUpdate]:
    """Run a step in a lane of its own, with the lane's events on the outer stream."""

    async def lane(state: LaneInput, config: RunnableConfig) -> AgentUpdate:
        invocation, checked = invocation_of(config), state["step_task"]["checked"]
        invocation.speak_from_here()
        with invocation.spans.lane(checked):
            return cast("AgentUpdate", await parked_if_drained(subgraph.ainvoke(state, config)))

    return lane
