"""Chat completions as a strict server has them: what it refuses, and what it sends, streamed or not.

A family of servers says what it adds to a message, and what it wants back; the rest is OpenAI's form.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from benchmarks.contract_model import Conversation, Json, Reply, Turn

WORDS = 12
"""Characters of a piece of a streamed text."""


class Refused(Exception):
    """A request that the real server answers with an error."""

    def __init__(self, message: str, body: object = None, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        self.body = body or {
            "error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}
        }


class ChatFamily:
    """Servers of one kind, by their public documentation."""

    name = "openai"
    path = "/v1/chat/completions"
    model = "gpt-5-mini"
    source = "https://platform.openai.com/docs/api-reference/chat"
    capabilities: tuple[str, ...] = ("function_calling", "json_mode")
    """What a user says that it can do."""
    settings: Mapping[str, Any] = MappingProxyType({})
    """What a user sets beside address, key and model."""
    fields = frozenset(("role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio"))
    """Fields of a message that it takes."""
    call_fields = frozenset(("id", "type", "function"))
    """Fields of a call that it takes."""

    lenient = False
    """Whether fields that it does not know pass."""

    def __init__(self) -> None:
        self.count = 0
        """How many messages it has sent."""
        self.sent: dict[str, Json] = {}
        """Messages that it sent with calls, by the id of the first."""
        self.altered: list[str] = []
        """What came back otherwise than it was sent."""

    # What it is asked.

    def read(self, request: Json) -> Conversation:
        """Read a request. Raises Refused as the real one refuses it."""
        self.check_parameters(request)
        messages: list[Json] = request["messages"]
        self.check_order(messages)
        newest = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=0)
        for at, message in enumerate(messages):
            self._check(at, message, messages, current=at > newest)
        system = "\n".join(_text(m) for m in messages if m["role"] in ("system", "developer"))
        turns = [
            Turn(m["role"], _text(m), [call["function"]["name"] for call in m.get("tool_calls") or ()])
            for m in messages
            if m["role"] not in ("system", "developer")
        ]
        tools = [tool["function"]["name"] for tool in request.get("tools") or ()]
        return Conversation(system, turns, tools, shaped="response_format" in request)

    def check_parameters(self, request: Json) -> None:
        """Refuse parameters that the real one refuses."""
        if request.get("response_format") == {"type": "json_object"}:
            said = " ".join(_text(message) for message in request["messages"])
            if "json" not in said.lower():
                raise Refused("'messages' must contain the word 'json' in some form, to use 'json_object'.")

    def check_reply(self, at: int, message: Json, *, current: bool) -> None:
        """Refuse a message of the assistant's that lacks what is wanted back.

        `current` says whether no user has spoken since.
        """

    def check_order(self, messages: list[Json]) -> None:
        """Refuse an order of messages, or ids of calls, that the real one refuses."""

    def unknown(self, at: int, name: str) -> Refused:
        """Refuse a field that is none."""
        message = f"Unknown parameter: 'messages[{at}].{name}'."
        body = {"message": message, "type": "invalid_request_error", "code": "unknown_parameter"}
        return Refused(message, {"error": {**body, "param": f"messages[{at}].{name}"}})

    def _check(self, at: int, message: Json, messages: list[Json], *, current: bool) -> None:
        calls: list[Json] = message.get("tool_calls") or []
        more = message.keys() - self.fields
        more |= {name for call in calls for name in call} - self.call_fields
        if more and not self.lenient:
            raise self.unknown(at, min(more))
        if message["role"] == "assistant":
            self.check_reply(at, message, current=current)
            answers = [m.get("tool_call_id") for m in messages[at + 1 : at + 1 + len(calls)]]
            if {call["id"] for call in calls} != set(answers):
                raise Refused(
                    "An assistant message with 'tool_calls' must be followed by tool messages responding to"
                    " each 'tool_call_id'."
                )
            if calls and (own := self.sent.get(calls[0]["id"])):
                self._compare(own, message)

    def _compare(self, own: Json, message: Json) -> None:
        """Note what comes back otherwise than it was sent."""
        for name in own.keys() - {"role", "content", "tool_calls"}:
            if own[name] is not None and message.get(name) != own[name]:
                self.altered.append(f"{name}: {own[name]!r} came back as {message.get(name)!r}")
        if isinstance(own.get("content"), list) and message["content"] != own["content"]:
            self.altered.append(f"content: {own['content']!r} came back as {message['content']!r}")
        for sent, back in zip(own["tool_calls"], message["tool_calls"], strict=False):
            for name in sent.keys() - {"id", "type", "function"}:
                if back.get(name) != sent[name]:
                    self.altered.append(f"{name} of a call: {sent[name]!r} came back as {back.get(name)!r}")

    # What it sends.

    def decorate(self, message: Json, reply: Reply, number: int) -> None:
        """Add to a message what this server sends beside the documented fields."""

    def call_id(self, number: int, position: int) -> str:
        """Make the id of a call."""
        return f"call_{self.name}_{number}_{position}"

    def message(self, reply: Reply) -> Json:
        """Spell a reply as a message, and remember it."""
        self.count += 1
        number = self.count
        message: Json = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": self.call_id(number, position),
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for position, (name, arguments) in enumerate(reply.calls)
            ]
        self.decorate(message, reply, number)
        if reply.calls:
            self.sent[message["tool_calls"][0]["id"]] = message
        return message

    def usage(self, reply: Reply) -> Json:
        """Say what a reply used."""
        thought = reply.cut or len(reply.thoughts.split())
        details = {"completion_tokens_details": {"reasoning_tokens": thought}}
        return {
            "prompt_tokens": 100,
            "completion_tokens": 20 + thought,
            "total_tokens": 120 + thought,
            **details,
        }

    def whole(self, reply: Reply, request: Json) -> Json:
        """Spell a reply that is not streamed."""
        choice = {"index": 0, "message": self.message(reply), "finish_reason": _end(reply), "logprobs": None}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request["model"]}
        return {**head, "choices": [choice], "usage": self.usage(reply)}

    def events(self, reply: Reply, request: Json) -> Iterator[bytes]:
        """Spell a reply as the events of a stream."""
        head = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": request["model"],
        }
        for delta in [{"role": "assistant", "content": ""}, *self.deltas(self.message(reply))]:
            yield event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _end(reply)}]})
        if (request.get("stream_options") or {}).get("include_usage"):
            yield event({**head, "choices": [], "usage": self.usage(reply)})
        yield b"data: [DONE]\n\n"

    def deltas(self, message: Json) -> Iterator[Json]:
        """Cut a message into the pieces of a stream: its fields, its words, its calls in two pieces each."""
        for name, value in message.items():
            if name not in ("role", "content", "tool_calls"):
                yield from self.pieces(name, value)
        yield from ({"content": part} for part in cut(message["content"] or ""))
        for index, call in enumerate(message.get("tool_calls") or ()):
            spelled = call["function"]["arguments"]
            half = len(spelled) // 2
            first = {**call, "index": index, "function": {**call["function"], "arguments": spelled[:half]}}
            yield {"tool_calls": [first]}
            yield {"tool_calls": [{"index": index, "function": {"arguments": spelled[half:]}}]}

    def pieces(self, name: str, value: Any) -> Iterator[Json]:
        """Cut a field of a message into the pieces of a stream."""
        if isinstance(value, str) and value:
            yield from ({name: part} for part in cut(value))
        else:
            yield {name: value}


def _end(reply: Reply) -> str:
    return "length" if reply.cut else "tool_calls" if reply.calls else "stop"


def cut(text: str) -> list[str]:
    """Cut a text into pieces."""
    return [text[at : at + WORDS] for at in range(0, len(text), WORDS)]


def event(body: Json) -> bytes:
    """Spell an event of a stream."""
    return b"data: " + json.dumps(body).encode() + b"\n\n"


def _text(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""
