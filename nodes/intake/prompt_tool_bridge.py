"""prompt_tool_bridge: let a model without function calling call tools in words."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.node import Node


def prompt_tool_bridge() -> Node[AgentState, AgentUpdate]:
    """Mark the route: the tools go into the system prompt, and calls are read from the model's text."""

    async def prompt_tool_bridge(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        return {"route": state["route"].model_copy(update={"can_call": True, "in_words": True})}

    return prompt_tool_bridge
