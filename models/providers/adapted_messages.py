"""Messages of a request, put into the form that a server asks for in its refusal."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from planwright.models.providers.sent_back import Json

_SHORT_ID = re.compile("[a-zA-Z0-9]{9}")


def in_messages(change: Callable[[list[Json]], list[Json]]) -> Callable[[Json], Json]:
    """Make what changes the messages of a request."""

    def apply(body: Json) -> Json:
        messages = body.get("messages")
        return {**body, "messages": change(messages)} if isinstance(messages, list) else body

    return apply


def one_system(messages: list[Json]) -> list[Json]:
    """Join all instructions in one message at the beginning."""
    texts = [str(m.get("content") or "") for m in messages if m.get("role") == "system"]
    others = [message for message in messages if message.get("role") != "system"]
    return [{"role": "system", "content": "\n\n".join(texts)}, *others] if len(texts) > 1 else messages


def short_ids(messages: list[Json]) -> list[Json]:
    """Give calls ids of nine letters and digits, where they have others."""

    def own(id_: object) -> object:
        if not isinstance(id_, str) or _SHORT_ID.fullmatch(id_):
            return id_
        return hashlib.sha256(id_.encode()).hexdigest()[:9]

    def adapt(message: Json) -> Json:
        changed: Json = {}
        if isinstance(calls := message.get("tool_calls"), list):
            changed["tool_calls"] = [{**call, "id": own(call.get("id"))} for call in calls]
        if "tool_call_id" in message:
            changed["tool_call_id"] = own(message["tool_call_id"])
        return {**message, **changed}

    return [adapt(message) for message in messages]


def word_between(messages: list[Json]) -> list[Json]:
    """Put a word of the assistant's between a result and what a user says after it."""
    spelled: list[Json] = []
    for message in messages:
        if message.get("role") == "user" and spelled and spelled[-1].get("role") == "tool":
            spelled.append({"role": "assistant", "content": "Noted."})
        spelled.append(message)
    return spelled


def texts_only(messages: list[Json]) -> list[Json]:
    """Put "" where a message has no content."""
    return [m if m.get("content", "") is not None else {**m, "content": ""} for m in messages]


def as_system(messages: list[Json]) -> list[Json]:
    """Let the role system say what the role developer says."""
    return [{**m, "role": "system"} if m.get("role") == "developer" else m for m in messages]
