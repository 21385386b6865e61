"""tool_execution: make one call of a model's through the gateway, and show the model its result."""

from __future__ import annotations

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.domain.errors import EffectInDoubt
from planwright.domain.hashing import json_text
from planwright.domain.results import StepResult
from planwright.domain.step_ends import CANCELLED
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.call_events import call_fields, emit_end, emit_start
from planwright.execution.step_runner import StepRunner, site_of
from planwright.models.conversation.truncation import shorten
from planwright.prompts.fence import OURS
from planwright.records.whole_results import ref_of
from planwright.state.invocation import invocation_of
from planwright.state.loop_state import CallDoubt, CallTask, LoopUpdate, ToolCall
from planwright.state.node import Node

EDITED = "made with other arguments, by a person: "
APPROVED = "a person approved it, and says: "
LONGEST_ERROR = 1_000
"""Letters of an error that a model is told; all that is kept of it stands on record."""


def tool_execution(runner: StepRunner, limit: int) -> Node[CallTask, LoopUpdate]:
    """Make the call, or answer from the record when it was made before a crash.

    Where nobody knows whether it happened, the model is not told before a person has been asked.
    """

    async def tool_execution(state: CallTask, config: RunnableConfig) -> LoopUpdate:
        invocation, call = invocation_of(config), state["call"]
        checked = call.step
        uid, step = checked.uid, checked.step
        result = invocation.board.settled(uid)
        if result is None and invocation.cancelled_by:
            result = await runner.cancelled(checked, invocation)
            if result.code == CANCELLED:
                not_made = tool_message(call, f"not made: {result.error}", ours=True, ok=False)
                return {"conversation": [not_made]}
            runner.record(result, invocation)
        fields = call_fields(checked, state["loop"].lane, call.call_id)

        async def arguments() -> dict[str, JsonValue]:
            return step.params

        emit_start(invocation, fields, step.params, uid)
        if result is None:
            async with invocation.board.slots:
                site = site_of(checked, state["batch"], invocation, state["loop"].budgets)
                result = await runner.attempt(site, arguments, fields, invocation)
            runner.record(result, invocation)
        emit_end(invocation, fields, result, uid)
        if result.code == EffectInDoubt.code:
            return {"doubts": {call.call_id: CallDoubt(call_id=call.call_id, uid=uid)}}
        own = _is_own(result, checked, runner)
        return {"conversation": [await call_answer(call, result, runner, limit, ours=own)]}

    return tool_execution


def _is_own(result: StepResult, checked: VerifiedStep, runner: StepRunner) -> bool:
    """Say whether a result holds nothing that others wrote: a trusted one, of a call before any such text."""
    capability = runner.gateway.registry.get(checked.step.capability or "")
    trusted = capability is not None and capability.trusted_result
    return trusted and result.status == "completed" and not checked.tainted


async def call_answer(
    call: ToolCall, result: StepResult, runner: StepRunner, limit: int, *, ours: bool = False
) -> ToolMessage:
    """Phrase a result for the model: shortened, or the error it can react to."""
    edit = f"{EDITED}{json_text(call.step.step.params)}\n" if call.edited else ""
    note = edit + (f"{APPROVED}{call.words}\n" if call.words else "")
    if result.status == "completed":
        return tool_message(call, note + await shown_output(result, runner, limit), ours=ours)
    error = f"{note}{result.code}: {shorten(result.error, LONGEST_ERROR)}"
    return tool_message(call, error, ours=ours, ok=False)


def tool_message(call: ToolCall, text: str, *, ours: bool = False, ok: bool = True) -> ToolMessage:
    """Answer a call of a model's; what is not `ours` is fenced before a model reads it."""
    return ToolMessage(
        text,
        tool_call_id=call.call_id,
        name=call.name,
        id=f"{call.call_id}_result",
        additional_kwargs=OURS if ours else {},
        status="success" if ok else "error",
    )


async def shown_output(result: StepResult, runner: StepRunner, limit: int) -> str:
    """Spell what a call brought, shortened; the whole can be read by reference."""
    return shorten(await runner.output(result), limit, ref_of(result.blob) if result.blob else "")
