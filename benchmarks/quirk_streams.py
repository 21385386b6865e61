"""The quirks of real servers in the bytes of a stream, and in what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable

from benchmarks.quirk_server import MANY, Json, Quirk


def _spelled(old: bytes, new: bytes) -> Callable[[bytes, bool], bytes]:
    return lambda body, streamed: body.replace(old, new)


def _in_stream(change: Callable[[bytes], bytes]) -> Callable[[bytes, bool], bytes]:
    return lambda body, streamed: change(body) if streamed else body


STREAM = (
    Quirk("BOM", "IIS gateways", wire=lambda body, streamed: b"\xef\xbb\xbf" + body),
    Quirk(
        "blanks around the body",
        "OpenRouter",
        wire=lambda body, streamed: body if streamed else b"\n \n" + body,
    ),
    Quirk(
        "data: without a space", "LM Studio", wire=_in_stream(lambda body: body.replace(b"data: ", b"data:"))
    ),
    Quirk("CRLF", "IIS gateways", wire=_in_stream(lambda body: body.replace(b"\n", b"\r\n"))),
    Quirk(
        "comments",
        "OpenRouter",
        wire=_in_stream(
            lambda body: b": PROCESSING\n\n" + body.replace(b"data: [DONE]", b": bye\n\ndata: [DONE]")
        ),
    ),
    Quirk(
        "event names",
        "proxies",
        wire=_in_stream(lambda body: body.replace(b"data: {", b"event: message\ndata: {")),
    ),
    Quirk(
        "ids and retry lines",
        "proxies",
        wire=_in_stream(lambda body: b"retry: 100\n\n" + body.replace(b"data: {", b"id: 1\ndata: {")),
    ),
    Quirk("no [DONE]", "Gemini", wire=_in_stream(lambda body: body.replace(b"data: [DONE]\n\n", b""))),
    Quirk("[DONE] twice", "proxies", wire=_in_stream(lambda body: body + b"data: [DONE]\n\n")),
    Quirk("an empty event first", "proxies", wire=_in_stream(lambda body: b"data: \n\n" + body)),
    Quirk("an empty object first", "Azure", wire=_in_stream(lambda body: b"data: {}\n\n" + body)),
    Quirk("null as an event", "proxies", wire=_in_stream(lambda body: b"data: null\n\n" + body)),
    Quirk(
        "a first chunk without choices",
        "Azure",
        wire=_in_stream(
            lambda body: b'data: {"id":"","object":"","choices":[],"prompt_filter_results":[]}\n\n' + body
        ),
    ),
    Quirk(
        "choices is null in the first chunk",
        "proxies",
        wire=_in_stream(lambda body: b'data: {"id":"","object":"","choices":null}\n\n' + body),
    ),
    Quirk(
        "choices is null in the last chunk",
        "proxies",
        wire=_in_stream(lambda body: body.replace(b'"choices": [], "usage"', b'"choices": null, "usage"')),
    ),
    Quirk(
        "delta is null in the last chunk",
        "proxies",
        wire=_in_stream(lambda body: body.replace(b'"delta": {}', b'"delta": null')),
    ),
    Quirk(
        "no delta in the last chunk",
        "proxies",
        wire=_in_stream(lambda body: body.replace(b'"delta": {}, ', b"")),
    ),
    Quirk("no blank line at the end", "proxies", wire=_in_stream(lambda body: body.rstrip(b"\n"))),
)


def _refuses(name: str, message: str) -> Quirk:
    return Quirk(f"refuses {name}", MANY, refuses=lambda request: message if name in request else "")


def _roles(request: Json) -> list[str]:
    return [message["role"] for message in request["messages"]]


REFUSALS = (
    _refuses("max_completion_tokens", "Unrecognized request argument supplied: max_completion_tokens"),
    Quirk(
        "refuses max_tokens",
        "OpenAI o-series, GPT-5",
        refuses=lambda request: (
            "Unsupported parameter: 'max_tokens' is not supported with this model."
            " Use 'max_completion_tokens' instead."
            if "max_tokens" in request
            else ""
        ),
    ),
    _refuses("stream_options", "stream_options: Extra inputs are not permitted"),
    _refuses("parallel_tool_calls", "Unknown parameter: 'parallel_tool_calls'."),
    _refuses("temperature", "Unsupported value: 'temperature' does not support 0.0 with this model."),
    _refuses("tool_choice", "tool_choice is not supported by this model"),
    _refuses("response_format", "response_format is not supported"),
    Quirk(
        "refuses a tool_choice that names one",
        "llama.cpp, vLLM",
        refuses=lambda request: (
            "tool_choice: only 'auto' and 'none' are supported"
            if isinstance(request.get("tool_choice"), dict)
            else ""
        ),
    ),
    Quirk(
        "refuses additionalProperties",
        "Gemini",
        refuses=lambda request: (
            'Invalid JSON payload received. Unknown name "additionalProperties" at tools'
            if "additionalProperties" in json.dumps(request.get("tools", []))
            else ""
        ),
    ),
    Quirk(
        "refuses several system messages",
        "vLLM templates",
        refuses=lambda request: (
            "Only one system message is supported, at the beginning"
            if _roles(request).count("system") > 1
            else ""
        ),
    ),
    Quirk(
        "refuses the role developer",
        MANY,
        refuses=lambda request: "Unknown role: developer" if "developer" in _roles(request) else "",
    ),
    Quirk(
        "refuses a schema with anyOf",
        "Gemini",
        refuses=lambda request: (
            "anyOf is not supported in function parameters of tools"
            if "anyOf" in json.dumps(request.get("tools", []))
            else ""
        ),
    ),
    Quirk(
        "refuses null as content",
        "Mistral, LM Studio",
        refuses=lambda request: (
            "messages: content should be a string, and is null"
            if any(message.get("content", "") is None for message in request["messages"])
            else ""
        ),
    ),
    Quirk(
        "refuses with status 422",
        "Mistral, TGI",
        refuses=lambda request: (
            '[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]'
            if "stream_options" in request
            else ""
        ),
        status=422,
    ),
)
