"""What a model ended with, as its reader is to understand it: all there is, a part of it, or nothing."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AIMessage

from planwright.domain.doubt import UNDECIDED
from planwright.models.replies.truncated import why_unfinished
from planwright.state.loop_state import CallDoubt, LoopOutcome

NOTHING = "(The model ended without a word.)"


def closing_words(reply: AIMessage, text: str) -> LoopOutcome:
    """End a loop with the last words of its model; a part of a reply, or none at all, completes nothing."""
    if why := why_unfinished(reply):
        return LoopOutcome(status="failed", code="model", text=part(text, why))
    if not text.strip():
        return LoopOutcome(status="failed", code="model", text=NOTHING)
    return LoopOutcome(status="completed", text=text)


def with_doubts(outcome: LoopOutcome, doubts: Iterable[CallDoubt]) -> LoopOutcome:
    """End a loop as escalated where a person left open whether a call of it happened."""
    left = sum(doubt.status == "left" for doubt in doubts)
    if not left or outcome.status not in ("completed", "failed"):
        return outcome
    which = "a call" if left == 1 else f"{left} calls"
    text = f"{outcome.text}\n(Nobody knows whether {which} of this happened.)"
    return LoopOutcome(status="escalated", code=UNDECIDED, text=text)


def part(text: str, why: str) -> str:
    """Mark words that are not all there should have been."""
    marked = f"{text} […]\n" if text.strip() else ""
    return f"{marked}(This is only a part: {why})"
