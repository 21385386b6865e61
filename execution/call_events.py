"""How a call of a loop or of a chain is announced, wherever it is made: its start and its end."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.state.invocation import Invocation


def call_fields(checked: VerifiedStep, lane: str, call_id: str | None = None) -> dict[str, JsonValue]:
    """Describe a call for its events; `call_id` names it in a model's reply, None for a part of a chain."""
    step = checked.step
    fields: dict[str, JsonValue] = {"lane": lane, "capability": step.capability, "step_id": step.id}
    fields |= {"uid": checked.uid, "risk": checked.risk}
    return fields if call_id is None else fields | {"call_id": call_id}


def emit_start(
    invocation: Invocation, fields: Mapping[str, JsonValue], args: Mapping[str, JsonValue], uid: str
) -> None:
    """Tell that a call begins, with its arguments."""
    invocation.emit("tool_call_start", {**fields, "args": dict(args)}, uid)


def emit_end(invocation: Invocation, fields: Mapping[str, JsonValue], result: StepResult, uid: str) -> None:
    """Tell how a call ended."""
    how = {"status": result.status, "code": result.code, "seconds": result.seconds, "error": result.error}
    invocation.emit("tool_call_end", {**fields, **how}, uid)
