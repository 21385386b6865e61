"""What a caller gets when a run stands still: the interrupts it shows, and what a pause is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from langgraph.types import GraphOutput, Interrupt

from planwright.domain.errors import StoreFailed
from planwright.records.runs import Run


def interrupts_in(chunk: object) -> Sequence[Interrupt]:
    """List the interrupts that a piece of a stream shows, in whatever mode and from whatever graph."""
    body = chunk[-1] if isinstance(chunk, tuple) and chunk else chunk
    return body.get("__interrupt__", ()) if isinstance(body, dict) else ()


def with_status(output: object, pause: str) -> object:
    """Let an output say that its run waits for a person, or why it is paused.

    The state itself is that of the last superstep. `pause` is "" for a run that is not paused.
    """
    if isinstance(output, GraphOutput):
        return replace(output, value=_standing(output.value, bool(output.interrupts), pause))
    return _standing(output, bool(interrupts_in(output)), pause)


def _standing(value: object, interrupted: bool, pause: str) -> object:
    if not isinstance(value, dict) or "status" not in value:
        return value
    if pause:
        return {**value, "status": "paused", "answer": f"{pause}\ngo on with it: invoke(None, config)"}
    return {**value, "status": "interrupted"} if interrupted else value


def paused_by_store(error: StoreFailed, run: Run) -> StoreFailed:
    """Say of a fault of the store what becomes of the run that met it."""
    step = f"{error.next_step}; then go on, nothing is done twice: planwright resume {run.thread_id}"
    return type(error)(f"{error.cause}; run {run.run_id} is paused", step)
