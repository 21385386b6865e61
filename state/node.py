"""What a node is, and how a failed one ends its run with an answer instead of a traceback."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.graph._node import StateNodeSpec

from planwright.domain.errors import (
    FeedbackUnheard,
    LimitExceeded,
    ModelCancelled,
    PlanwrightError,
    RunStopped,
)
from planwright.domain.results import RunStatus
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import invocation_of

StateT = TypeVar("StateT", contravariant=True)
UpdateT = TypeVar("UpdateT", covariant=True)


class Node(Protocol[StateT, UpdateT]):
    """An async function from what it is sent to the part of its graph's state that it changes."""

    def __call__(self, state: StateT, config: RunnableConfig) -> Awaitable[UpdateT]: ...


def ending(status: RunStatus, error: PlanwrightError) -> AgentUpdate:
    """End a run with an answer that names cause and next step."""
    return {"status": status, "answer": str(error)}


def describe(nodes: Mapping[str, StateNodeSpec[Any, Any]], factories: Mapping[str, object]) -> None:
    """Let Studio show what each node does: in the words of its factory, which has the node's name."""
    for name, node in nodes.items():
        node.metadata = {"description": inspect.getdoc(factories[name])}


def _status_after(error: PlanwrightError) -> RunStatus:
    if isinstance(error, LimitExceeded):
        return "budget_exceeded"
    return "cancelled" if isinstance(error, ModelCancelled) else "failed"


def ends_run(node: Node[AgentState, AgentUpdate]) -> Node[AgentState, AgentUpdate]:
    """Turn an error of ours into the end of the run. Interrupts and foreign errors pass through.

    So do FeedbackUnheard, where the run waits for a model, and RunStopped: it is as after a crash. A provider
    that is away, and a limit, put the run down where it may go on later.
    """

    async def guarded(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        try:
            return await node(state, config)
        except (FeedbackUnheard, RunStopped):
            raise
        except PlanwrightError as error:
            if await invocation_of(config).goes_on_after(error):
                return await guarded(state, config)
            return ending(_status_after(error), error)

    guarded.__name__ = getattr(node, "__name__", "node")
    return guarded
