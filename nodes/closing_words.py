"""What a model ended with, as its reader is to understand it: all there is, a part of it, or nothing."""

from __future__ import annotations

from langchain_core.messages import AIMessage

NOTHING = "(The model ended without a word.)"
UNFINISHED = {
    "length": "the reply was cut off at the token limit",
    "content_filter": "the provider's filter held the rest back",
}


def closing_words(reply: AIMessage, text: str) -> str:
    """Mark the text of a reply that is no whole answer, by the finish reasons of OpenAI's API."""
    why = UNFINISHED.get(str(reply.response_metadata.get("finish_reason")))
    if why:
        return f"{text} […]\n(This is only a part: {why})"
    return text if text.strip() else NOTHING
