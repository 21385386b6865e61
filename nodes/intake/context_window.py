"""context_window: shorten a conversation that fills its model's context."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.models.conversation.shortening import Shortening
from planwright.models.conversation.thread_messages import of_thread
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import invocation_of
from planwright.state.node import Node


def context_window(shortening: Shortening) -> Node[AgentState, AgentUpdate]:
    """Let a model sum up the oldest messages, or leave them out; the thread keeps them all."""

    async def context_window(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation, before = invocation_of(config), state.get("compacted")
        messages = of_thread(state["messages"])
        shortened = await shortening.of(messages, before, state["route"], invocation, "context_window")
        return {"compacted": shortened}

    return context_window
