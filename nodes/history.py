"""A conversation any provider accepts: every tool call is answered once, directly after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

UNANSWERED = "no result: the call was not made, or its answer was lost"
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")


def repair(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Put the results of each reply directly after it, in call order; fill in those that are missing.

    Results that belong to no call, and second results of one, are left out.
    """
    results: dict[str, ToolMessage] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            results.setdefault(message.tool_call_id, message)
    repaired: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            continue
        repaired.append(message)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                id_ = str(call["id"])
                missing = ToolMessage(UNANSWERED, tool_call_id=id_, status="error")
                repaired.append(results.pop(id_, missing))
    return repaired


def normalise(reply: AIMessage, id_: str, taken: Iterable[str]) -> tuple[AIMessage, dict[int, str]]:
    """Give a reply an id of ours, and each call a name, arguments and an id that no other call has.

    Returns the reply and, by position, what was wrong with calls that cannot be made.
    """
    used, wrong = set(taken), dict[int, str]()
    calls: list[dict[str, Any]] = []
    for call in (*reply.tool_calls, *reply.invalid_tool_calls):
        position, args, given = len(calls), call.get("args"), call.get("id")
        if not isinstance(args, dict):
            wrong[position] = f"the arguments are no JSON object: {str(args)[:200]}"
            args = {}
        name = call.get("name")
        if not isinstance(name, str) or not name:
            wrong[position] = "the call names no tool"
            name = "unnamed"
        call_id = given if isinstance(given, str) and given and given not in used else f"{id_}_{position}"
        used.add(call_id)
        calls.append({"name": _NOT_IN_A_NAME.sub("_", name)[:64], "args": args, "id": call_id})
    content = reply.content if calls or reply.text else ""
    clean = AIMessage(
        content=content if isinstance(content, str) else reply.text,
        tool_calls=calls,
        id=id_,
        usage_metadata=reply.usage_metadata,
    )
    return clean, wrong
