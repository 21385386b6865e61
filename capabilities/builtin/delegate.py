"""Giving a part of a task to an agent of its own. The node `sub_agent` carries it out, in a lane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected


def _refusal() -> CapabilityRejected:
    return CapabilityRejected(
        "only an agent can delegate", "leave `capability` out, and name the tools in `tool_hints`"
    )


def refuse_in_a_plan(args: Mapping[str, JsonValue], context: CallContext) -> None:
    """Refuse a plan's step: its agentic steps are lanes already."""
    raise _refusal()


@capability(
    "agent.delegate",
    mode="delegated",
    effect="idempotent",
    tags=("delegate", "agent", "research", "parallel"),
    guide=Guide("Only in `tool_hints`: for a step whose agent may split its work among others.", (), 800),
    preflight=refuse_in_a_plan,
    reads=(),
)
def delegate(
    task: Annotated[str, Field(min_length=1, description="all that the agent needs to know")],
    tools: Annotated[list[str], Field(description="some of your own tools; none named: all of them")] = [],  # noqa: B006
    expected: Annotated[str, Field(description="what it is to bring back")] = "",
    max_turns: Annotated[int | None, Field(ge=1, le=500)] = None,
    tokens: Annotated[int | None, Field(ge=1, description="its budget of tokens")] = None,
    tool_calls: Annotated[int | None, Field(ge=1, description="its budget of calls")] = None,
) -> dict[str, str]:
    """Give a part of the task to an agent of its own, which sees nothing but what you write here."""
    raise _refusal()
