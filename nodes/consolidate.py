"""consolidate: give a new thread its title, so that people find it again."""

from __future__ import annotations

import re

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.runs import Runs
from planwright.graph.invocation import invocation_of
from planwright.graph.state import AgentState
from planwright.nodes.node import Node, Update

_POLITE = re.compile(
    r"^(please|can you|could you|would you|i need you to|hi|hello|hey)\b[\s,]*", re.IGNORECASE
)


def consolidate(runs: Runs) -> Node[AgentState]:
    """Name the thread after its first request."""

    async def consolidate(state: AgentState, config: RunnableConfig) -> Update:
        invocation = invocation_of(config)
        await runs.set_title(invocation.thread_id, title(state["request"]))
        return {}

    return consolidate


def title(request: str, limit: int = 60) -> str:
    """Shorten a request to a title of at most `limit` characters, at a word."""
    plain = _POLITE.sub("", " ".join(request.split()))
    plain = plain[:1].upper() + plain[1:]
    return plain if len(plain) <= limit else plain[: limit - 1].rsplit(" ", 1)[0] + "…"
