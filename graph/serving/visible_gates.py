"""What pages are shown of an open gate: beside its card, words of the agent below the question.

agent-chat-ui draws a card only below words of the model or of a tool, and of a thread's second question on the
newest message is that question (langchain-ai/agent-chat-ui, `src/components/thread/messages/ai.tsx`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.types import Interrupt, StateSnapshot

from planwright.approvals.decide import gate_of
from planwright.graph.entry.outputs import interrupts_in


def visible_state(state: StateSnapshot) -> StateSnapshot:
    """Add to a state of a thread what its open gates ask, in words."""
    return state._replace(values=_with_words(state.values, state.interrupts))


def visible_chunk(chunk: Any) -> Any:
    """Add the same to the state of a thread that a piece of a stream brings; other pieces stay as they are."""
    *place, body = chunk if isinstance(chunk, tuple) else ("values", chunk)
    if place not in (["values"], [(), "values"]):
        return chunk
    visible = _with_words(body, interrupts_in(body))
    return (*place, visible) if isinstance(chunk, tuple) else visible


def _with_words(values: Any, interrupts: Iterable[Interrupt]) -> Any:
    """Put a message below those of a state; the thread itself never has it, so no prompt does."""
    prompts = [each.value for each in interrupts if gate_of(each.value)]
    if not prompts or not isinstance(values, dict) or "messages" not in values:
        return values
    words = "\n".join(str(prompt["description"]) for prompt in prompts)
    message = AIMessage(words, id=f"{gate_of(prompts[0])}:question")
    return {**values, "messages": [*values["messages"], message]}
