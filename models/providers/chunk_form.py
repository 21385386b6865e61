"""The chunks of a streamed reply, each put into the documented form, or all of them into one completion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from planwright.models.providers.common_form import (
    REASONING,
    WHOLE,
    as_error,
    completion,
    error_in,
    format_arguments,
    format_message,
    function_of,
    head_of,
    json_objects,
    no_completion,
    read_reason,
    read_usage,
)
from planwright.models.providers.sent_back import SENT_BACK, Json, SentBack
from planwright.models.replies.call_pieces import CallPieces


class ChunkForm:
    """Puts the chunks of one stream into the documented form, in their order."""

    def __init__(self) -> None:
        self._end = ""  # the reason of the end, once it has come
        self._calls, self._ids = CallPieces(), list[str]()
        self._begun = self._in_deltas = False  # whether a choice has come, and one with a delta
        self._other: Mapping[str, object] = {}  # what came in the place of the first choice
        self._head: Json = {}
        self._usage: Json | None = None  # the newest; some servers count it up in every chunk
        self._sent_back = SentBack()

    def chunk(self, body: Mapping[str, object]) -> Json:
        """Put the next chunk into the documented form, or give the error that it tells of."""
        if error := error_in(body):
            self._begun, self._end = True, "error"
            return error
        choices = [self._choice(position, c) for position, c in enumerate(json_objects(body.get("choices")))]
        self._begun, self._other = self._begun or bool(choices), body
        self._head = head_of(body, "chat.completion.chunk")
        self._usage = read_usage(body.get("usage")) or self._usage
        return {**body, **self._head, "choices": choices, "usage": None}

    def missing(self) -> Json | None:
        """Give, once, the error that nothing of a completion has come, and what came instead; else None."""
        if self._begun or not self._other:
            return None
        self._begun, self._end = True, "error"
        return as_error(no_completion(self._other))

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
        if self._end or not self._head:
            return None
        self._end = "tool_calls" if self._calls.calls else "stop"
        choice: Json = {"index": 0, "delta": {}, "finish_reason": self._end}
        return {**self._head, "choices": [choice], "usage": None}

    def _choice(self, position: int, choice: Json) -> Json:
        piece = choice.get("delta")
        if isinstance(piece, Mapping):
            self._in_deltas = self._in_deltas or bool(piece)
        elif not self._in_deltas:  # else it is the whole message once more
            piece = choice.get("message")
        if isinstance(piece, Mapping):
            self._sent_back.add(piece)
        delta = format_message(piece, self._call)
        end = read_reason(choice.get("finish_reason"), bool(self._calls.calls))
        if self._end and end in (self._end, *WHOLE):  # it is told again, and they would be joined
            end = None
        self._end = self._end or end or ""
        index = choice.get("index")
        return {
            **{name: held for name, held in choice.items() if name != "message"},
            "index": index if isinstance(index, int) else position,
            "delta": delta,
            "finish_reason": end,
        }

    def _call(self, _: int, call: Json) -> Json:
        """Give a piece of a call its place, and an id to the first one of each call."""
        function, id_ = function_of(call), call.pop("id", None)
        name, arguments = function.pop("name", None), function.get("arguments")
        piece = self._calls.add(
            call.get("index"),
            id_,
            name if isinstance(name, str) else "",
            arguments if isinstance(arguments, str) else format_arguments(arguments, ""),
        )
        if piece.begins:
            own = self._calls.calls[piece.place].id
            self._ids.append(own if own and own not in self._ids else f"call_{piece.place}")
            call["id"] = self._ids[-1]
        self._sent_back.add_call(self._ids[piece.place], call)
        if piece.begins or piece.name:
            function["name"] = piece.name
        function["arguments"] = piece.arguments
        return {**call, "index": piece.place, "type": "function", "function": function}


def from_chunks(bodies: Sequence[Mapping[str, object]], *, ended: bool) -> Json:
    """Put a whole completion together from the chunks of a stream, or give the error among them."""
    form, texts, calls = ChunkForm(), dict[str, str](), list[Json]()
    end: object = "stop" if ended else None
    for body in bodies:
        chunk = form.chunk(body)
        if chunk.get("error"):
            return chunk
        for choice in json_objects(chunk["choices"]):
            delta = cast(Json, choice["delta"])
            end = choice["finish_reason"] or end
            for name in ("content", REASONING):
                texts[name] = texts.get(name, "") + str(delta.get(name) or "")
            calls += json_objects(delta.get("tool_calls"))
    if error := form.missing():
        return error
    choice = {"message": {**texts, "tool_calls": _whole_calls(calls)}, "finish_reason": end or "error"}
    used = form.used() or {"usage": None}
    whole = completion({**bodies[-1], **used, "choices": [choice]})
    if own := form.sent_back():
        (last,) = json_objects(own["choices"])
        (first, *_) = cast(list[dict[str, Json]], whole["choices"])
        first["message"] |= cast(Json, last["delta"])
    return whole


def _whole_calls(pieces: Iterable[Json]) -> list[Json]:
    """Join the pieces of calls, each of which has its place."""
    calls: list[Json] = []
    for piece in pieces:
        if piece["index"] == len(calls):
            calls.append(piece)
            continue
        whole, more = (function_of(call) for call in (calls[cast(int, piece["index"])], piece))
        joined = {name: str(whole.get(name) or "") + str(more[name]) for name in more}
        calls[cast(int, piece["index"])]["function"] = {**whole, **joined}
    return calls
