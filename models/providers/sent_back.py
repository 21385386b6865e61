"""What a server sends with a message beside the documented fields: it wants it back, word for word.

Of DeepSeek it is `reasoning_content`, of Gemini `extra_content` of a call, of OpenRouter `reasoning_details`,
of Mistral a content that is a list with thoughts in it. Nothing of it is understood here, or left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Self

from langchain_core.messages import AIMessage

Json = dict[str, object]
SENT_BACK = "sent_back"
"""Where a message holds it on its way to and from a client: in its extras, and in no other place."""
_DOCUMENTED = frozenset(
    ("role", "content", "name", "tool_calls", "function_call", "refusal", "audio", "annotations")
)
_OF_CALLS = frozenset(("index", "id", "type", "function"))
_OF_FUNCTIONS = frozenset(("name", "arguments"))
_COMES_IN_PIECES = re.compile("reason|think|thought")
_TEXTS = ("text", "thinking", "summary")


class Receiver:
    """Takes what a client keeps of the reply to a call that is made in its block, past what shows replies."""

    def __init__(self) -> None:
        self._own: Json | None = None

    def __enter__(self) -> Self:
        self._outer = _RECEIVER.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        _RECEIVER.reset(self._outer)

    def take(self, own: Json) -> None:
        """Take all that is to be sent back of the reply."""
        self._own = own

    def complete(self, reply: AIMessage) -> AIMessage:
        """Put it into the whole reply, which nobody has seen in this form."""
        own = {SENT_BACK: self._own} if self._own else {}
        return reply.model_copy(update={"additional_kwargs": {**reply.additional_kwargs, **own}})


_RECEIVER: ContextVar[Receiver | None] = ContextVar("receiver", default=None)


def hand_over(own: object) -> None:
    """Give what is to be sent back of a reply to whoever made the call."""
    if isinstance(own, dict) and own and (receiver := _RECEIVER.get()):
        receiver.take(own)


class SentBack:
    """Gathers what is to be sent back of one message, from the whole of it or piece by piece."""

    def __init__(self) -> None:
        self._fields: Json = {}
        self._contents: list[object] = []
        self._calls: dict[str, Json] = {}

    def add(self, message: Mapping[str, object]) -> None:
        """Take the fields of a message, or of a piece of one."""
        for name, value in message.items():
            if name not in _DOCUMENTED and value is not None:
                joins = _COMES_IN_PIECES.search(name) is not None
                self._fields[name] = _joined(self._fields.get(name), value, joins=joins)
        content = message.get("content")
        if isinstance(content, list):
            self._contents = _entries(self._contents, content)
        elif isinstance(content, str) and content and self._contents:
            self._contents = _entries(self._contents, [{"type": "text", "text": content}])

    def add_call(self, id_: str, call: Mapping[str, object]) -> None:
        """Take the fields of a call, or of a piece of one."""
        own = {name: value for name, value in call.items() if name not in _OF_CALLS and value is not None}
        function = call.get("function")
        if isinstance(function, Mapping) and (of_function := function.keys() - _OF_FUNCTIONS):
            own["function"] = {name: function[name] for name in of_function}
        if own:
            self._calls[id_] = _merged(self._calls.get(id_, {}), own)

    def whole(self) -> Json | None:
        """Give all that came; None where nothing did."""
        fields = dict(self._fields)
        if any(isinstance(part, Mapping) and part.get("type") != "text" for part in self._contents):
            fields["content"] = self._contents
        own = {"message": fields, "calls": self._calls}
        return {name: held for name, held in own.items() if held} or None


def with_sent_back(message: Json, own: object) -> Json:
    """Spell a message of the assistant's as its server sent it."""
    if not isinstance(own, Mapping):
        return message
    fields, of_calls = own.get("message"), own.get("calls")
    spelled = {**message, **fields} if isinstance(fields, Mapping) else message
    calls = spelled.get("tool_calls")
    if isinstance(of_calls, Mapping) and isinstance(calls, list):
        spelled["tool_calls"] = [_merged(call, of_calls.get(call.get("id"), {})) for call in calls]
    return spelled


def own_fields(messages: Sequence[Mapping[str, object]]) -> set[str]:
    """Name the fields of messages, and of calls in them, that are not among the documented ones."""
    names = {name for message in messages for name in message} - _DOCUMENTED - {"tool_call_id"}
    return names | {name for message in messages for call in _calls(message) for name in call} - _OF_CALLS


def without_own_field(name: str) -> Callable[[list[Json]], list[Json]]:
    """Make what leaves one of these fields out."""

    def give_back(message: Json) -> Json:
        rest = {key: held for key, held in message.items() if key != name}
        if calls := _calls(message):
            rest["tool_calls"] = [{key: h for key, h in call.items() if key != name} for call in calls]
        return rest

    return lambda messages: [give_back(message) for message in messages]


def _calls(message: Mapping[str, object]) -> list[Json]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _joined(held: object, value: object, *, joins: bool) -> object:
    """Join what came of a field with what comes."""
    if isinstance(held, str) and isinstance(value, str):
        return held + value if joins else value
    if isinstance(held, list) and isinstance(value, list):
        return _entries(held, value)
    if isinstance(held, Mapping) and isinstance(value, Mapping):
        return _merged(held, value)
    return _entries([], value) if isinstance(value, list) else value


def _merged(held: Mapping[str, object], value: Mapping[str, object]) -> Json:
    return {**held, **{name: _joined(held.get(name), part, joins=False) for name, part in value.items()}}


def _entries(held: list[object], more: list[object]) -> list[object]:
    """Go on with a list; a text that goes on in a further entry of its kind is one text."""
    whole = list(held)
    for entry in more:
        last = whole[-1] if whole else None
        if isinstance(last, Mapping) and isinstance(entry, Mapping) and _goes_on(last, entry):
            whole[-1] = {
                **last,
                **{
                    name: _joined(last.get(name), part, joins=name in _TEXTS)
                    for name, part in entry.items()
                    if part is not None
                },
            }
        else:
            whole.append(entry)
    return whole


def _goes_on(last: Mapping[str, object], entry: Mapping[str, object]) -> bool:
    """Say whether an entry goes on with the last one: of its type and place, and no data of its own."""
    same = all(last.get(name) == entry.get(name) for name in ("type", "index"))
    return same and "data" not in entry and any(name in last for name in _TEXTS)
