"""compaction: shorten the conversation of an agentic loop, between two turns."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.models.conversation.shortening import Shortening
from planwright.state.invocation import invocation_of
from planwright.state.loop_state import LoopState, LoopUpdate
from planwright.state.node import Node


def compaction(shortening: Shortening) -> Node[LoopState, LoopUpdate]:
    """Do what `context_window` does, when a loop has grown too long or its model said so."""

    async def compaction(state: LoopState, config: RunnableConfig) -> LoopUpdate:
        loop, turn = state["loop"], state.get("turn", 0) + 1
        shortened = await shortening.of(
            state["conversation"],
            state.get("compacted"),
            loop.route,
            invocation_of(config),
            f"{loop.lane}.{turn}.context",
            loop.budgets,
        )
        return {"compacted": shortened, "crowded": False, "fitted": turn}

    return compaction
