"""What the LangGraph server and Studio load (`langgraph.json`), over the folder they were started in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.saver import Saver
from planwright.graph.agent import Agent, open_agent


class ServedAgent(Agent):
    """An agent behind the server's API.

    The server runs with durability `async` unless its client says otherwise; here an effect has
    to be on record before it happens, so every run is `sync`.
    """

    def astream(
        self,
        input: Any,
        config: RunnableConfig | None = None,
        *,
        context: Any = None,
        durability: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """Stream a run or an answer that came through the server."""
        told = {**(context or {}), "channel": "server"}
        return super().astream(input, config, context=told, durability="sync", **kwargs)


graph = open_agent()
graph.__class__ = ServedAgent


def saver() -> Saver:
    """Lend the server the workspace's own saver, so that it shares threads with terminal and Python."""
    return graph.stores.saver
