"""The whole of a result that was shortened before a model saw it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected

ROOM = 500  # for the rest of the reply, so that a piece is not shortened again


class Piece(BaseModel):
    """A part of a result; `next` is where the following one starts, None at the end."""

    text: str
    """This part of the result."""
    total: int
    """Length of the whole result, in characters."""
    next: int | None
    """Where the following part starts, in characters; None at the end."""


@capability(
    "results.read",
    mode="read_only",
    guide=Guide("Never in a plan: there `{{steps.<id>.output}}` is the whole result.", (), 950),
    reads=(),
)
async def read(
    ref: Annotated[str, Field(description="as the shortened result says")],
    call: CallContext,
    start: Annotated[int, Field(ge=0, description="the first character")] = 0,
) -> Piece:
    """Show more of a result of yours that was truncated."""
    if call.whole_results is None:
        raise CapabilityRejected("nothing keeps results here")
    whole = await call.whole_results.read(call.run_id, call.tenant, ref)
    end = start + max(100, (call.settings.tools.result_limit - ROOM) // 2)  # quotes and newlines are escaped
    return Piece(text=whole[start:end], total=len(whole), next=end if end < len(whole) else None)
