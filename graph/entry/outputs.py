"""What a caller gets when a run stands still: the interrupts it shows, and what a pause is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langgraph.types import GraphOutput, Interrupt

from planwright.domain.errors import ModelUnavailable, StoreFailed
from planwright.domain.hashing import json_text
from planwright.domain.results import RunStatus
from planwright.records.effects.run_deeds import HEAD, deeds_of
from planwright.records.queue.queue import PROVIDER
from planwright.records.runs import Run
from planwright.records.stores import Stores
from planwright.state.invocation import Invocation


@dataclass(frozen=True)
class Standstill:
    """Why a run stands still that neither waits for a person nor has ended."""

    status: RunStatus
    """`paused`, or `budget_exceeded` where it was put down at a limit."""
    waits_for: str
    """What it waits for: who paused it, its provider, or the setting of the limit."""
    words: str
    """Why, with what was done so far where a limit put it down."""
    go_on: str = "go on with it: invoke(None, config)"
    """How a program goes on with it."""


async def standstill_of(invocation: Invocation, reason: str, stores: Stores) -> Standstill:
    """Say why a drained run stands still, and how it goes on."""
    error = invocation.put_down_by
    if isinstance(error, ModelUnavailable):
        return Standstill("paused", PROVIDER, "; ".join(filter(None, (error.cause, error.next_step))))
    if error is None or error.shortage is None:
        return Standstill("paused", reason, reason)
    more = {error.shortage.unit: error.shortage.offered}
    deeds = [] if invocation.so_far else await deeds_of(invocation.run_id, stores)
    account = [invocation.so_far] if invocation.so_far else [HEAD, *deeds] if deeds else []
    named = error.cause if error.limit in error.cause else f"{error.cause} ({error.limit})"
    words = "\n".join((named, *account))
    go_on = f"give it more, and go on with it: extend(thread_id, {json_text(more)}), invoke(None, config)"
    return Standstill("budget_exceeded", error.limit, words, go_on)


def interrupts_in(chunk: object) -> Sequence[Interrupt]:
    """List the interrupts that a piece of a stream shows, in whatever mode and from whatever graph."""
    body = chunk[-1] if isinstance(chunk, tuple) and chunk else chunk
    return body.get("__interrupt__", ()) if isinstance(body, dict) else ()


def with_status(output: object, pause: Standstill | None) -> object:
    """Let an output say that its run waits for a person, or why it stands still.

    The state itself is that of the last superstep. `pause` is None for a run that goes on or has ended.
    """
    if isinstance(output, GraphOutput):
        return replace(output, value=_standing(output.value, bool(output.interrupts), pause))
    return _standing(output, bool(interrupts_in(output)), pause)


def _standing(value: object, interrupted: bool, pause: Standstill | None) -> object:
    if not isinstance(value, dict) or "status" not in value:
        return value
    if pause:
        return {**value, "status": pause.status, "answer": f"{pause.words}\n{pause.go_on}"}
    return {**value, "status": "interrupted"} if interrupted else value


def paused_by_store(error: StoreFailed, run: Run) -> StoreFailed:
    """Say of a fault of the store what becomes of the run that met it."""
    step = f"{error.next_step}; then go on, nothing is done twice: planwright resume {run.thread_id}"
    return type(error)(f"{error.cause}; run {run.run_id} is paused", step)
