"""Answers that are one JSON object: by schema, by a tool call, by JSON mode, or by asking for it in words.

The first way that a provider offers is used. When it refuses a way it was said to offer, the next one is
tried at once, remembered for its model, and told. What comes is read, and repaired, the same in any case.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage
from langchain_core.runnables import Runnable

from planwright.domain.errors import ContextOverflow, KeyRefused, ModelRejected
from planwright.models.providers.common_form import REASONING
from planwright.models.replies.plan_wrappers import strict_json
from planwright.prompts import as_data, render
from planwright.settings.providers import ProviderSettings
from planwright.state.agent_state import ModelRoute

OutputMode = Literal["json_schema", "tool_call", "json_mode", "text"]
Schema = Mapping[str, Any]
NEEDS: Mapping[OutputMode, str] = {
    "json_schema": "json_schema",
    "tool_call": "function_calling",
    "json_mode": "json_mode",
}
_ABOUT_IT = re.compile(r"response_format|json.?schema|json.?object|json.?mode|schema|tool|function", re.I)


class OutputModes:
    """Remember which ways of answering with one object each model has refused."""

    def __init__(self) -> None:
        self._refused: dict[tuple[str, str], set[OutputMode]] = defaultdict(set)

    def best(self, route: ModelRoute, provider: ProviderSettings | None) -> OutputMode:
        """Choose the strictest way that a provider offers and its model has not refused."""
        refused, offered = (
            self._refused[route.provider, route.model],
            provider.capabilities if provider else (),
        )
        modes = (way for way, need in NEEDS.items() if need in offered and way not in refused)
        return next(modes, "text")

    def refused(self, route: ModelRoute, way: OutputMode, error: ModelRejected) -> bool:
        """Note that a way was refused; say whether it was, and not the request as a whole."""
        if (
            way == "text"
            or isinstance(error, KeyRefused | ContextOverflow)
            or not _ABOUT_IT.search(error.cause)
        ):
            return False
        self._refused[route.provider, route.model].add(way)
        return True


def asking(
    model: BaseChatModel, way: OutputMode, role: str, schema: Schema
) -> tuple[Runnable[Any, AIMessage], dict[str, Any]]:
    """Give a model, and the options of its call, the form that its answer is to have."""
    if way == "tool_call":
        function = {"name": role, "description": "Give your answer.", "parameters": dict(schema)}
        return model.bind_tools([{"type": "function", "function": function}], tool_choice=role), {}
    if way == "json_schema":
        form = {"name": role, "schema": dict(schema), "strict": False}
        return model, {"response_format": {"type": "json_schema", "json_schema": form}}
    return model, {"response_format": {"type": "json_object"}} if way == "json_mode" else {}


def with_form(messages: Sequence[AnyMessage], schema: Schema | None) -> list[AnyMessage]:
    """Spell the form of the answer below the system message."""
    system, *rest = messages
    return [SystemMessage(f"{system.text}{render('form', form=as_data(schema))}"), *rest]


def answered(reply: AIMessage) -> AIMessage:
    """Put the answer into the text of a reply; a call that could not be read is left to be repaired.

    Thoughts that are nothing but one object are the answer where there is no other.
    """
    if len(calls := [*reply.tool_calls, *reply.invalid_tool_calls]) > 1:
        content = " ".join(json.dumps(call["args"], ensure_ascii=False) for call in calls)  # read as several
    elif reply.tool_calls:
        content = json.dumps(reply.tool_calls[0]["args"], ensure_ascii=False)
    elif reply.invalid_tool_calls:
        content = reply.invalid_tool_calls[0]["args"] or ""
    elif not reply.text.strip() and _is_object(reply.additional_kwargs.get(REASONING)):
        content = str(reply.additional_kwargs[REASONING])  # its server takes what comes for thoughts
    else:
        return reply
    return reply.model_copy(update={"content": content, "tool_calls": [], "invalid_tool_calls": []})


def _is_object(thoughts: object) -> bool:
    try:
        return isinstance(thoughts, str) and isinstance(strict_json(thoughts), dict)
    except (ValueError, RecursionError):
        return False
