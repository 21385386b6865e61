"""What a model ended with, as its reader is to understand it: all there is, a part of it, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from pydantic import JsonValue

from planwright.domain.doubt import UNDECIDED
from planwright.models.providers.common_form import REASONING
from planwright.models.replies.truncated import why_unfinished
from planwright.records.budgets import OF_THIS_AGENT
from planwright.state.loop_state import CallDoubt, LoopOutcome

SPENT = "budget_exceeded: "
"""How a model is told of a call that a limit refused."""
NOTHING = "(The model ended without a word.)"
THOUGHTS = (
    "(The provider sent all of this as thoughts, and no answer. If it is one, switch off the reasoning parser"
    " of the server, or thinking: providers.<name>.thinking.)"
)
NOT_CALLED = (
    "You wrote a call of {name} as text, and nothing was called."
    " Call the tool itself, or answer without a call."
)
WRITTEN = "(The model wrote its calls as text, and nothing was called.)"


def closing_words(reply: AIMessage, text: str) -> LoopOutcome:
    """End a loop with the last words of its model; a part of a reply, or none at all, completes nothing."""
    if why := why_unfinished(reply):
        return LoopOutcome(status="failed", code="model", text=part(text, why))
    if not text.strip():
        thoughts = reply.additional_kwargs.get(REASONING)
        text = f"{thoughts}\n{THOUGHTS}" if isinstance(thoughts, str) and thoughts.strip() else NOTHING
        return LoopOutcome(status="failed", code="model", text=text)
    return LoopOutcome(status="completed", text=text)


def ending_with_questions(text: str, questions: JsonValue) -> LoopOutcome:
    """End a loop with the questions of its model to the user, behind what it says beside them."""
    return LoopOutcome(status="needs_input", text="\n".join(filter(None, (text.strip(), phrase(questions)))))


def phrase(questions: JsonValue) -> str:
    """Put one to four questions on lines of their own."""
    lines = [str(question) for question in questions] if isinstance(questions, list) else []
    return "\n".join(lines) or "What do you mean?"


def without_call(text: str) -> LoopOutcome:
    """End a loop whose model was told that it writes its calls as text, and did so again."""
    return LoopOutcome(status="failed", code="model", text=f"{text.strip()}\n{WRITTEN}")


def limit_met(conversation: Sequence[AnyMessage]) -> str:
    """Say which limit refused a call of the last reply; "" where none did."""
    last = takewhile(lambda message: isinstance(message, ToolMessage), reversed(conversation))
    errors = [
        message.text for message in last if isinstance(message, ToolMessage) and message.status == "error"
    ]
    refused = [text.removeprefix(SPENT) for text in errors if text.startswith(SPENT)]
    return refused[-1] if refused else ""


def at_a_limit(limit: str, text: str) -> LoopOutcome:
    """End a loop whose calls a limit refuses, with what its model says of how far it came."""
    code = "lane.tool_calls" if limit.startswith(OF_THIS_AGENT) else "budget_exceeded"
    words = "\n".join(filter(None, (text.strip(), f"(Stopped: {limit})")))
    return LoopOutcome(status="budget_exceeded", code=code, text=words)


def with_doubts(outcome: LoopOutcome, doubts: Iterable[CallDoubt]) -> LoopOutcome:
    """End a loop as escalated where a person left open whether a call of it happened."""
    left = sum(doubt.status == "left" for doubt in doubts)
    if not left or outcome.status not in ("completed", "needs_input", "failed"):
        return outcome
    which = "a call" if left == 1 else f"{left} calls"
    text = f"{outcome.text}\n(Nobody knows whether {which} of this happened.)"
    return LoopOutcome(status="escalated", code=UNDECIDED, text=text)


def part(text: str, why: str) -> str:
    """Mark words that are not all there should have been."""
    marked = f"{text} […]\n" if text.strip() else ""
    return f"{marked}(This is only a part: {why})"
