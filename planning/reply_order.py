"""The order of the calls of a reply: an effect waits for all that stands before it, and all behind it waits.

Calls that only read have no order among them. A model wrote the later calls of its reply in the belief that
the earlier ones happen: an effect is made only where every effect before it was.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from langchain_core.messages import ToolMessage

from planwright.state.loop_state import LoopState, ToolCall

NOT_MADE = "not made: {name} stands before it and did not succeed; call it again if it is still right"


def in_stages(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Say of each call of a reply when it is made.

    What cannot be verified now is told now, unless an effect stands before it: that may change the answer.
    """
    staged: list[ToolCall] = []
    before: ToolCall | None = None
    stage, effects = 0, False
    for call in calls:
        if call.unverified and call.error and not call.answer:
            call = call.model_copy(update={"error": ""} if effects else {"unverified": ""})
        if call.to_make:
            stage += before is not None and (before.changes or call.changes)
            call = call.model_copy(update={"stage": stage})
            before, effects = call, effects or call.changes
        staged.append(call)
    return staged


def open_calls(state: LoopState) -> list[ToolCall]:
    """List the calls of the last reply that have no answer yet, in its order."""
    answered = {m.tool_call_id for m in state["conversation"] if isinstance(m, ToolMessage)}
    return [call for call in state["calls"] if call.call_id not in answered]


def due(state: LoopState) -> list[ToolCall]:
    """List the calls whose turn it is, side by side."""
    stage = state.get("stage", 0)
    return [call for call in open_calls(state) if call.to_make and call.stage == stage]


def has_later(calls: Sequence[ToolCall], stage: int) -> bool:
    """Say whether calls of a reply wait for those of a stage."""
    return any(call.to_make and call.stage > stage for call in calls)


def failed_calls(state: LoopState) -> frozenset[str]:
    """Name the calls that were answered with an error: rejected, failed, or nobody knows."""
    return frozenset(
        message.tool_call_id
        for message in state["conversation"]
        if isinstance(message, ToolMessage) and message.status == "error"
    )


def held_back(call: ToolCall, calls: Sequence[ToolCall], failed: Container[str]) -> str:
    """Say why an effect is not made behind another one that did not happen; "" where it may be made."""
    before = calls[: call.index] if call.changes else ()
    for earlier in before:
        if earlier.changes and not earlier.left_out and (earlier.error or earlier.call_id in failed):
            return NOT_MADE.format(name=earlier.name)
    return ""
