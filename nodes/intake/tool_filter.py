"""tool_filter: the capabilities that a loop is offered; the planner's shortlist holds them too."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.registry import Registry
from planwright.execution.tool_offer import ToolOffer
from planwright.settings.workspace import ToolSettings
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import invocation_of
from planwright.state.node import Node


def tool_filter(registry: Registry, settings: ToolSettings) -> Node[AgentState, AgentUpdate]:
    """Offer all capabilities while they fit a budget of tokens, else the best and a search for the others."""
    offer = ToolOffer(settings)

    async def tool_filter(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        allowed = registry.within(invocation_of(config).profile)
        return {"tools": offer.of(allowed, state["request"], state["route"].context)}

    return tool_filter
