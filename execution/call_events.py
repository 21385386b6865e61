"""How a call is announced: its start and its end, as events of the run and to the callbacks of the config."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from langchain_core.messages import ToolMessage
from langchain_core.runnables.config import ensure_config, get_async_callback_manager_for_config
from langgraph.errors import GraphBubbleUp
from pydantic import JsonValue

from planwright.capabilities.gateway.gateway import Gateway
from planwright.domain.errors import PlanwrightError
from planwright.domain.hashing import json_text
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.models.conversation.call_arguments import wire_name
from planwright.models.conversation.truncation import shorten
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


async def with_callbacks(
    call: Callable[[], Awaitable[JsonValue]],
    gateway: Gateway,
    checked: VerifiedStep,
    args: dict[str, JsonValue],
    fields: Mapping[str, JsonValue],
) -> JsonValue:
    """Make a call, and tell the callbacks of the config of it, as of a tool of LangChain.

    Its end comes as a ToolMessage, shortened as for a model. Source: `BaseTool.arun` of langchain_core.
    """
    capability = gateway.registry.get(checked.step.capability or "")
    if capability is None or capability.has_callbacks:
        return await call()
    tool, call_id = wire_name(capability.name), str(fields.get("call_id", checked.uid))
    inputs = gateway.call_context.redactor.value(args)
    callbacks = get_async_callback_manager_for_config(ensure_config())
    heard = await callbacks.on_tool_start(
        {"name": tool}, json_text(inputs), name=tool, inputs=inputs, tool_call_id=call_id
    )
    try:
        output = await call()
    except (PlanwrightError, GraphBubbleUp) as error:
        await heard.on_tool_error(error, tool_call_id=call_id)
        raise
    text = shorten(output, gateway.call_context.settings.tools.result_limit)
    await heard.on_tool_end(ToolMessage(text, tool_call_id=call_id, name=tool), name=tool)
    return output
