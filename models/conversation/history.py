"""A conversation any provider accepts: every tool call is answered once, directly after it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.utils.utils import LC_ID_PREFIX

from planwright.models.conversation.call_arguments import flaw_of, whole
from planwright.models.conversation.provider_data import carried
from planwright.models.replies.truncated import why_unfinished
from planwright.prompts.fence import OURS

UNANSWERED = "no result: the call was not made, or its answer was lost"
STREAMED = "streamed_as"
"""Names (in `response_metadata`) the id that pages know a reply by, where LangChain made it."""
UNREAD = "the call could not be read"
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
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
                known = {"tool_call_id": id_, "name": call["name"], "status": "error"}
                missing = ToolMessage(UNANSWERED, additional_kwargs=OURS, **known)
                repaired.append(results.pop(id_, missing))
    return repaired


def normalise(reply: AIMessage, id_: str, taken: Iterable[str]) -> tuple[AIMessage, dict[int, str]]:
    """Give a reply an id of ours, and each call a name, arguments and an id that no other call has.

    Returns the reply, which any provider and any store take, and, by position, what was wrong with
    calls that cannot be made: all of them, where the reply was cut off.
    """
    used, wrong, renamed = set(taken), dict[int, str](), dict[str, str]()
    calls: list[dict[str, Any]] = []
    read, cut = list(reply.tool_calls or ()), why_unfinished(reply)
    for position, call in enumerate((*read, *(reply.invalid_tool_calls or ()))):
        fields: dict[str, Any] = dict(call) if isinstance(call, dict) else {}
        name, args = fields.get("name"), fields.get("args")
        bad_args = flaw_of(args)
        unread = UNREAD if position >= len(read) else ""
        flaw = _reported_flaw(fields.get("error"), unread) or _flaw_of_name(name) or bad_args or unread
        if cut:  # what can be read of it may be half of what was meant
            flaw = f"not made: {cut}; call it again, with less at once"
        if flaw:
            wrong[position] = flaw
        call_id = _own_id(fields.get("id"), f"{id_}_{position}", used)
        used.add(call_id)
        if isinstance(own := fields.get("id"), str) and own != call_id:
            renamed[own] = call_id
        spelled = _NOT_IN_A_NAME.sub("_", name)[:64] if isinstance(name, str) else ""
        calls.append({"name": spelled or "unnamed", "args": {} if bad_args else args, "id": call_id})
    text = whole(_text(reply.content))
    own_data = carried(reply, renamed)
    streamed = {STREAMED: reply.id} if (reply.id or "").startswith(LC_ID_PREFIX) else {}
    clean = AIMessage(text, tool_calls=calls, id=id_, additional_kwargs=own_data, response_metadata=streamed)
    clean.usage_metadata = reply.usage_metadata
    return clean, wrong


def _text(content: object) -> str:
    """Read the words of a reply; unlike `reply.text`, whatever its blocks are."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    blocks = (block.get("text") if isinstance(block, dict) else block for block in content)
    return "".join(block for block in blocks if isinstance(block, str))


def _reported_flaw(error: object, unread: str) -> str:
    """Put what is known of why a call could not be read."""
    return f"{unread}: {whole(error)[:200]}" if unread and isinstance(error, str) and error else ""


def _own_id(id_: object, ours: str, used: set[str]) -> str:
    """Keep an id that is well spelled and new, else make one that is."""
    if isinstance(id_, str) and _ID.fullmatch(id_) and id_ not in used:
        return id_
    while ours in used:
        ours += "_"
    return ours


def _flaw_of_name(name: object) -> str:
    """Say why a name cannot be a tool's. A name that has to be respelled never runs what it then spells."""
    if not isinstance(name, str) or not name:
        return "the call names no tool"
    if _ID.fullmatch(name):
        return ""
    spelling = "a tool's name has letters, digits, _ and -, and __ for a dot"
    return f"there is no tool {ascii(name)[:100]}: {spelling}"
