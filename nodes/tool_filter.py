"""tool_filter: the capabilities that fit a request best; the planner's shortlist begins with them."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.registry import Registry
from planwright.graph.invocation import invocation_of
from planwright.graph.state import AgentState
from planwright.nodes.node import Node, Update


def tool_filter(registry: Registry, top_k: int) -> Node[AgentState]:
    """Keep the `top_k` best capabilities, `datetime.now` and `memory.search` among them."""

    async def tool_filter(state: AgentState, config: RunnableConfig) -> Update:
        surface = registry.within(invocation_of(config).profile)
        return {"tools": surface.rank(state["request"], top_k)}

    return tool_filter
