"""Draining: a run stops before its next superstep, and what has begun is finished.

LangGraph asks a graph to stop by a `RunControl`, which graphs within it share. One that stops there raises
`GraphDrained`, and an error of one task cancels those beside it, in the middle of an effect: so a graph
within a node parks instead, as one that waits at a gate does.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from langgraph.errors import GraphDrained, GraphInterrupt

T = TypeVar("T")


async def parked_if_drained(work: Awaitable[T]) -> T:
    """Await the work of a graph within a node; where it was drained, park: it goes on at the next resume."""
    try:
        return await work
    except GraphDrained as drained:
        raise GraphInterrupt(()) from drained
