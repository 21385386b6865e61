"""What a model ended with, as its reader is to understand it: all there is, a part of it, or nothing."""

from __future__ import annotations

from langchain_core.messages import AIMessage

from planwright.models.unfinished import as_far_as_it_goes

NOTHING = "(The model ended without a word.)"


def closing_words(reply: AIMessage, text: str) -> str:
    """Mark the text of a reply that is no whole answer."""
    marked = as_far_as_it_goes(reply, text)
    return marked if marked.strip() else NOTHING
