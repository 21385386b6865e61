"""A reply that ended before its end, and says so itself."""

from __future__ import annotations

from langchain_core.messages import AIMessage

WHY = {
    "length": "the reply was cut off at the token limit",
    "content_filter": "the provider's filter held the rest back",
}


def why_unfinished(reply: AIMessage) -> str:
    """Say why a reply is only a part of one, by the finish reasons of OpenAI's API; empty for a whole one."""
    return WHY.get(str(reply.response_metadata.get("finish_reason")), "")
