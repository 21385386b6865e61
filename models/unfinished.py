"""A reply that ended before its end, and says so itself."""

from __future__ import annotations

from langchain_core.messages import AIMessage

WHY = {
    "length": "the reply was cut off at the token limit",
    "content_filter": "the provider's filter held the rest back",
}


def as_far_as_it_goes(reply: AIMessage, text: str) -> str:
    """Mark the text of a reply that is only a part of one, by the finish reasons of OpenAI's API."""
    why = WHY.get(str(reply.response_metadata.get("finish_reason")))
    return f"{text} […]\n(This is only a part: {why})" if why else text
