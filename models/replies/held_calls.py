"""The calls of a streamed reply, kept back from who reads along until their arguments are whole."""

from __future__ import annotations

import json

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

from planwright.models.providers.common_form import plain_arguments
from planwright.models.replies.call_pieces import CallPieces, StreamedCall

LONGEST_QUOTED = 2000  # characters of arguments that are no JSON


class HeldCalls:
    """The calls of a reply, kept back until they are whole.

    `quoted` says whether the arguments in each piece are spelled as a text of JSON.
    """

    def __init__(self, *, quoted: bool = False) -> None:
        self._calls, self._quoted = CallPieces(), quoted

    def take(self, message: BaseMessage) -> str:
        """Take the pieces of calls out of a piece of a reply, and return those of their arguments."""
        if not isinstance(message, AIMessageChunk) or not message.tool_call_chunks:
            return ""
        pieces = [self._add(chunk) for chunk in message.tool_call_chunks]
        message.tool_call_chunks, message.tool_calls, message.invalid_tool_calls = [], [], []
        return "".join(pieces)

    def whole(self) -> list[ToolCallChunk]:
        """Return the calls with all of their arguments. Long ones that are no JSON are quoted in part."""
        return [
            tool_call_chunk(name=call.name or None, args=_parsable(call), id=call.id or None, index=place)
            for place, call in enumerate(self._calls.calls)
        ]

    def _add(self, chunk: ToolCallChunk) -> str:
        arguments = chunk["args"] or ""
        if self._quoted and arguments:
            arguments = str(json.loads(arguments))
        return self._calls.add(chunk["index"], chunk["id"], chunk["name"] or "", arguments).arguments


def _parsable(call: StreamedCall) -> str:
    """Read the arguments of a call; what would take long to be found wrong is shortened to a text."""
    arguments = plain_arguments(call.arguments)
    if len(arguments) > LONGEST_QUOTED:
        try:
            json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            return json.dumps(f"{arguments[:LONGEST_QUOTED]}…")
    return arguments
