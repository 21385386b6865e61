"""A reply that ended before its end, by what it says of its end itself."""

from __future__ import annotations

from langchain_core.messages import AIMessage

_WHOLE = ("", "stop", "tool_calls", "function_call")
_WHY = {
    "length": "the reply was cut off at the token limit",
    "content_filter": "the provider's filter held the rest back",
}


def why_unfinished(reply: AIMessage) -> str:
    """Say why a reply is only a part of one, by the finish reasons of OpenAI's API; empty for a whole one.

    A reason that nobody knows is none for a whole reply: its calls may be half of what was meant.
    """
    end = str(reply.response_metadata.get("finish_reason") or "")
    return (
        "" if end in _WHOLE else _WHY.get(end, f"the reply was not ended as a whole one is, but by `{end}`")
    )
