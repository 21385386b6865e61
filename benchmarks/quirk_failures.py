"""The quirks of real servers that nothing right can be made of: a run says so, and what the server said."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy

from benchmarks.quirk_server import Json, Quirk

_FULL = "the house is full"


def _body(text: str, *, event: str = "") -> Callable[[bytes, bool], bytes]:
    """Put a text in the place of the body, in a stream as its one event."""
    name = f"event: {event}\n" if event else ""
    return lambda body, streamed: (f"{name}data: {text}\n\n" if streamed else text).encode()


def _in_the_middle(event: str) -> Callable[[bytes, bool], bytes]:
    """Let a stream end with an event behind its second chunk; a whole body is nothing but its data."""

    def wire(body: bytes, streamed: bool) -> bytes:
        begun = b"\n\n".join(body.split(b"\n\n")[:2])
        return begun + b"\n\n" + event.encode() if streamed else event.partition("data: ")[2].encode()

    return wire


def _message(**fields: object) -> Callable[[Json], Json]:
    def part(content: Json) -> Json:
        content = deepcopy(content)
        for choice in content["choices"]:
            choice["message" if "message" in choice else "delta"] = dict(fields)
            choice["finish_reason"] = choice["finish_reason"] and "stop"
        return content

    return part


def _as_thoughts(content: Json) -> Json:
    content = deepcopy(content)
    for choice in content["choices"]:
        message = choice["message"] if "message" in choice else choice["delta"]
        if message.get("content"):
            message["reasoning_content"] = message.pop("content")
    return content


def _without_end(content: Json) -> Json:
    content = deepcopy(content)
    for choice in content["choices"]:
        choice["finish_reason"] = None
    return content


FAILURES = (
    Quirk(
        "no choices",
        "LiteLLM, Azure",
        part=lambda content: {**content, "choices": []},
        tells="sent no usable reply",
    ),
    Quirk(
        "choices is null",
        "OpenRouter",
        part=lambda content: {**content, "choices": None},
        tells="sent no usable reply",
    ),
    Quirk(
        "message is null",
        "proxies",
        part=lambda content: {**content, "choices": [{"index": 0, "message": None, "delta": None}]},
        tells="without a word|not one JSON|no usable reply|broke off|tickets.list: four found",
    ),
    Quirk(
        "a page with status 200",
        "captive portals, gateways",
        wire=lambda body, streamed: b"<!DOCTYPE html><html><body>Log in</body></html>",
        kind="text/html",
        tells="sent no usable reply",
    ),
    Quirk(
        "a page said to be JSON",
        "gateways",
        wire=lambda body, streamed: b"<!DOCTYPE html><html><body>Log in</body></html>",
        kind="application/json",
        tells="sent no usable reply",
    ),
    Quirk("an empty body", "proxies", wire=lambda body, streamed: b"", tells="sent no usable reply"),
    Quirk("an error as a text", "Ollama", wire=_body(json.dumps({"error": _FULL})), tells=_FULL),
    Quirk(
        "an error in the middle",
        "OpenRouter, LiteLLM",
        wire=_in_the_middle(f'data: {{"error": {{"message": "{_FULL}", "code": 502}}}}\n\n'),
        tells=_FULL,
    ),
    Quirk(
        "an error that calls itself so",
        "older vLLM, SGLang",
        wire=_body(json.dumps({"object": "error", "message": _FULL, "type": "Internal", "code": 500})),
        tells=_FULL,
    ),
    Quirk(
        "an event of the name error",
        "Anthropic gateways",
        wire=_in_the_middle(f'event: error\ndata: {{"type": "overloaded", "message": "{_FULL}"}}\n\n'),
        tells=_FULL,
    ),
    Quirk(
        "a state beside choices of null",
        "MiniMax",
        wire=_body(
            json.dumps({"choices": None, "base_resp": {"status_code": 1002, "status_msg": _FULL}}),
        ),
        tells=_FULL,
    ),
    Quirk("details for choices", "FastAPI servers", wire=_body(json.dumps({"detail": _FULL})), tells=_FULL),
    Quirk(
        "no finish reason and no [DONE]",
        "a server that was stopped",
        part=_without_end,
        wire=lambda body, streamed: body.replace(b"data: [DONE]\n\n", b""),
        tells="broke off in its reply|sent no usable reply",
    ),
    Quirk(
        "content is null, and nothing else",
        "Gemini, vLLM",
        part=_message(content=None),
        tells="without a word|not one JSON|tickets.list: four found",
    ),
    Quirk(
        "all words as thoughts",
        "vLLM, Ollama, OpenRouter",
        part=_as_thoughts,
        tells="as thoughts|tickets.list: four found",
    ),
)
