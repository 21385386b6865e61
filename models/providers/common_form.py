"""Replies of servers that spell chat completions in ways of their own, put into the documented form.

Pure functions over one completion, or one chunk of a streamed one: ids, indexes, roles, contents, calls, the
reason of the end and the usage (https://platform.openai.com/docs/api-reference/chat).
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from planwright.models.providers.sent_back import SENT_BACK, Json, SentBack

_Speller = Callable[[int, Json], Json]
ENDS = {
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "complete": "stop",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "safety": "content_filter",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
}
_FENCE = "```"
REASONING = "reasoning_content"  # langchain-core shows a message's field of this name as a block of its own
KNOWN_ENDS = frozenset(("stop", "length", "tool_calls", "content_filter", "error"))


def completion(body: Mapping[str, object]) -> Json:
    """Put a whole completion into the documented form."""
    choices = [_choice(position, choice) for position, choice in enumerate(_objects(body.get("choices")))]
    return {
        **body,
        **_head(body, "chat.completion"),
        "choices": choices,
        "usage": read_usage(body.get("usage")),
    }


class ChunkForm:
    """Puts the chunks of one stream into the documented form, in their order."""

    def __init__(self) -> None:
        self._ended = False  # whether a reason of the end has come
        self._calls: list[str] = []  # ids of the calls, by their place
        self._places: dict[object, int] = {}  # of the calls, by the number that the server gives them
        self._head: Json = {}
        self._usage: Json | None = None  # the newest; some servers count it up in every chunk
        self._sent_back = SentBack()

    def chunk(self, body: Mapping[str, object]) -> Json:
        """Put the next chunk into the documented form."""
        choices = [self._choice(position, c) for position, c in enumerate(_objects(body.get("choices")))]
        self._head = _head(body, "chat.completion.chunk")
        self._usage = read_usage(body.get("usage")) or self._usage
        return {**body, **self._head, "choices": choices, "usage": None}

    def used(self) -> Json | None:
        """Give the chunk that says, once for the stream, what was used; None where nothing is said of it."""
        usage, self._usage = self._usage, None
        return {**self._head, "choices": [], "usage": usage} if usage else None

    def sent_back(self) -> Json | None:
        """Give the chunk with all that the server wants back of this message; None where that is nothing."""
        own, self._sent_back = self._sent_back.whole(), SentBack()
        choice: Json = {"index": 0, "delta": {SENT_BACK: own}, "finish_reason": None}
        return {**self._head, "choices": [choice], "usage": None} if own else None

    def last(self) -> Json | None:
        """Give the chunk that is missing where a stream ended without a finish reason."""
        if self._ended or not self._head:
            return None
        self._ended = True
        choice: Json = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if self._calls else "stop"}
        return {**self._head, "choices": [choice], "usage": None}

    def _choice(self, position: int, choice: Json) -> Json:
        if isinstance(piece := choice.get("delta"), Mapping):
            self._sent_back.add(piece)
        delta = _message(choice.get("delta"), self._call)
        end = read_reason(choice.get("finish_reason"), bool(self._calls))
        self._ended = self._ended or end is not None
        index = choice.get("index")
        return {
            **choice,
            "index": index if isinstance(index, int) else position,
            "delta": delta,
            "finish_reason": end,
        }

    def _call(self, _: int, call: Json) -> Json:
        """Give a piece of a call its place, and an id to the first one of each call."""
        place = self._place(call)
        function = _function(call)
        if place < len(self._calls):
            call.pop("id", None)
            if not function.get("name"):
                function.pop("name", None)
        else:
            self._calls.append(_call_id(call, place))
            call["id"] = self._calls[place]
        self._sent_back.add_call(self._calls[place], call)
        arguments = function.get("arguments")
        function["arguments"] = arguments if isinstance(arguments, str) else _spelled(arguments, "")
        return {**call, "index": place, "type": "function", "function": function}

    def _place(self, call: Json) -> int:
        key = call.get("index")
        if key is None:  # a server that numbers no calls sends each in one piece, or its pieces in a row
            begins = bool(_function(call).get("name"))
            return len(self._calls) if begins or not self._calls else len(self._calls) - 1
        return self._places.setdefault(key, len(self._calls))


def plain_arguments(text: str) -> str:
    """Take the arguments of a call out of a fence or a second encoding; "" and null are none.

    What is JSON and no object is spelled so that it is none: like broken JSON it goes back to the model. All
    else stays.
    """
    text = _unfenced(text)
    if text.strip() in ("", "null"):
        return "{}"
    if text.lstrip().startswith("{"):
        return text
    try:
        inner = json.loads(text)
    except ValueError:
        return text
    with contextlib.suppress(ValueError):
        if isinstance(inner, str) and isinstance(json.loads(inner), dict):
            return inner
    return f"no object: {text}"


def _unfenced(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    fenced = first.rstrip() in (_FENCE, f"{_FENCE}json") and rest.endswith(_FENCE)
    return rest.removesuffix(_FENCE).strip() if fenced else text


def read_usage(value: object) -> Json | None:
    """Read what was used; None where it is not said in numbers."""
    if not isinstance(value, Mapping):
        return None
    counts = {name: _number(value.get(name)) for name in ("prompt_tokens", "completion_tokens")}
    if None in counts.values():
        return None
    total = _number(value.get("total_tokens"))
    details = {name: detail for name, detail in value.items() if isinstance(detail, Mapping)}
    return {**details, **counts, "total_tokens": total or sum(filter(None, counts.values()))}


def read_reason(value: object, calls: bool) -> str | None:
    """Name the reason of the end as documented; None where there is none yet."""
    if not isinstance(value, str) or not value:
        return None
    name = value.lower()
    known = name if name in KNOWN_ENDS else ENDS.get(name, "stop")
    return "tool_calls" if calls and known == "stop" else known


def _head(body: Mapping[str, object], kind: str) -> Json:
    created, id_ = body.get("created"), body.get("id")
    return {
        "id": str(id_) if id_ else "chatcmpl-0",
        "object": kind,
        "created": _number(created) or 0,
        "model": str(body.get("model") or ""),
    }


def _choice(position: int, choice: Json) -> Json:
    sent_back = SentBack()
    if isinstance(piece := choice.get("message"), Mapping):
        sent_back.add(piece)
    message = _message(choice.get("message"), partial(_whole_call, sent_back))
    message.setdefault("content", None)
    message["role"] = "assistant"
    if own := sent_back.whole():
        message[SENT_BACK] = own
    end = read_reason(choice.get("finish_reason"), bool(message.get("tool_calls")))
    whole = "tool_calls" if message.get("tool_calls") else "stop"  # nothing is missing of a whole reply
    return {**choice, "index": position, "message": message, "finish_reason": end or whole}


def _message(value: object, spell: _Speller) -> Json:
    message: Json = dict(value) if isinstance(value, Mapping) else {}
    if not message.get("role"):
        message.pop("role", None)
    if thoughts := _thoughts(message):
        message[REASONING] = thoughts
    if isinstance(content := message.get("content"), list):
        message["content"] = "".join(_texts(content))
    calls = [spell(position, dict(call)) for position, call in enumerate(_objects(message.get("tool_calls")))]
    if calls:
        message["tool_calls"] = calls
    else:
        message.pop("tool_calls", None)
    return message


def _whole_call(sent_back: SentBack, position: int, call: Json) -> Json:
    function = _function(call)
    sent_back.add_call(_call_id(call, position), call)
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else _spelled(arguments, "{}")
    function["arguments"] = plain_arguments(text)
    return {**call, "id": _call_id(call, position), "type": "function", "function": function}


def _function(call: Json) -> Json:
    function = call.get("function")
    return dict(function) if isinstance(function, Mapping) else {}


def _call_id(call: Json, position: int) -> str:
    return str(call.get("id") or f"call_{position}")


def _spelled(arguments: object, nothing: str) -> str:
    return nothing if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _texts(parts: Iterable[object]) -> Iterable[str]:
    """Take the texts out of the parts of a content; what a model thought is no part of its answer."""
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Mapping) and isinstance(text := part.get("text"), str):
            yield text


def _thoughts(message: Json) -> str:
    """Join what a model says of its thinking, in whichever field its server puts that."""
    fields = (message.pop(name, None) for name in (REASONING, "reasoning"))
    parts = content if isinstance(content := message.get("content"), list) else []
    thinking = [part.get("thinking") for part in _objects(parts) if part.get("type") == "thinking"]
    sources = [*fields, *("".join(_texts(each)) if isinstance(each, list) else each for each in thinking)]
    return next((text for text in sources if isinstance(text, str) and text), "")


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, str) and value.isdecimal() else None


def _objects(value: object) -> list[Json]:
    return [dict(entry) for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []
