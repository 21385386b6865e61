"""The quirks of real servers: first those in fields, contents and calls of a reply, then all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from benchmarks.quirk_failures import FAILURES
from benchmarks.quirk_pieces import BODIES, PARALLEL, PIECES
from benchmarks.quirk_server import MANY, Json, Quirk
from benchmarks.quirk_streams import REFUSALS, STREAM

GONE = object()


def _changed(change: Callable[[Json], None]) -> Callable[[Json], Json]:
    def part(content: Json) -> Json:
        copied = deepcopy(content)
        change(copied)
        return copied

    return part


def _put(target: Json, name: str, value: object) -> None:
    if value is GONE:
        target.pop(name, None)
    else:
        target[name] = value


def _top(name: str, value: object) -> Callable[[Json], Json]:
    return _changed(lambda content: _put(content, name, value))


def _choice(name: str, value: object) -> Callable[[Json], Json]:
    def change(content: Json) -> None:
        for choice in content["choices"] or ():
            _put(choice, name, value)

    return _changed(change)


def _messages(content: Json) -> Iterator[Json]:
    for choice in content["choices"] or ():
        yield choice["message"] if "message" in choice else choice["delta"]


def _message(name: str, value: object, only: str = "") -> Callable[[Json], Json]:
    def change(content: Json) -> None:
        for message in _messages(content):
            if not only or only in message:
                _put(message, name, value)

    return _changed(change)


def _calls(change: Callable[[Json], None]) -> Callable[[Json], Json]:
    def each(content: Json) -> None:
        for message in _messages(content):
            for call in message.get("tool_calls") or ():
                change(call)

    return _changed(each)


def _call(name: str, value: object) -> Callable[[Json], Json]:
    return _calls(lambda call: _put(call, name, value))


def _without_calls(value: object) -> Callable[[Json], Json]:
    """Put a value in the place of the calls of a message that has none."""

    def change(content: Json) -> None:
        for message in _messages(content):
            message.setdefault("tool_calls", value)

    return _changed(change)


def _arguments(spell: Callable[[str], Any]) -> Callable[[Json], Json]:
    """Spell the arguments of whole calls anew; in a stream all of them come in the first piece."""

    def change(call: Json) -> None:
        function = call["function"]
        if "name" in function:
            function["arguments"] = spell("{}" if function["name"] != "planner" else _PLAN_TEXT)
        else:
            function["arguments"] = ""

    return _calls(change)


def _text(spell: Callable[[str], Any]) -> Callable[[Json], Json]:
    def change(content: Json) -> None:
        for message in _messages(content):
            if isinstance(message.get("content"), str) and message["content"]:
                message["content"] = spell(message["content"])

    return _changed(change)


def _finish(value: object) -> Callable[[Json], Json]:
    def change(content: Json) -> None:
        for choice in content["choices"] or ():
            if choice["finish_reason"] is not None:
                _put(choice, "finish_reason", value)

    return _changed(change)


def _usage(value: object) -> Callable[[Json], Json]:
    def change(content: Json) -> None:
        if content.get("usage"):
            _put(content, "usage", value)

    return _changed(change)


@_changed
def _refusal(content: Json) -> None:
    for message in _messages(content):
        if isinstance(message.get("content"), str) and message["content"]:
            message["refusal"] = message["content"]
            message["content"] = None


_PLAN_TEXT = json.dumps(
    {"goal": "List them", "steps": [{"id": "s1", "capability": "tickets.list", "params": {}}]}
)
FIELDS = (
    Quirk("no id", "llama.cpp, proxies", _top("id", GONE)),
    Quirk("id is null", "proxies", _top("id", None)),
    Quirk("id is a number", "proxies", _top("id", 7)),
    Quirk("no object", "proxies", _top("object", GONE)),
    Quirk("object is empty", "Azure", _top("object", "")),
    Quirk("object of the other kind", "older vLLM", _top("object", "text_completion")),
    Quirk("no created", "proxies", _top("created", GONE)),
    Quirk("created is a float", "LM Studio", _top("created", 1.5)),
    Quirk("created is a text", "proxies", _top("created", "2026-11-23")),
    Quirk("no model", "llama.cpp", _top("model", GONE)),
    Quirk("model is null", "proxies", _top("model", None)),
    Quirk("error is null", "OpenRouter", _top("error", None)),
    Quirk("unknown fields", "vLLM, Groq", _top("x_groq", {"id": "req_1"})),
    Quirk("system fingerprint is null", "Groq", _top("system_fingerprint", None)),
    Quirk("no usage", "llama.cpp, Ollama", _top("usage", GONE)),
    Quirk("usage is null", MANY, _top("usage", None)),
    Quirk("usage is empty", "proxies", _usage({})),
    Quirk("usage without a total", "Gemini", _usage({"prompt_tokens": 100, "completion_tokens": 20})),
    Quirk("usage of nulls", "proxies", _usage(dict.fromkeys(("prompt_tokens", "completion_tokens")))),
    Quirk(
        "usage of texts",
        "proxies",
        _usage({"prompt_tokens": "9", "completion_tokens": "2", "total_tokens": "11"}),
    ),
    Quirk(
        "usage with null details",
        "DeepSeek, Groq",
        _usage(
            {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "prompt_tokens_details": None}
        ),
    ),
    Quirk("no index of the choice", "Ollama", _choice("index", GONE)),
    Quirk("no logprobs", MANY, _choice("logprobs", GONE)),
    Quirk("finish reason is null", "llama.cpp", _finish(None)),
    Quirk("no finish reason", "proxies", _choice("finish_reason", GONE)),
    Quirk("finish reason is empty", "LM Studio", _finish("")),
    Quirk("finish reason eos", "Mistral, TGI", _finish("eos")),
    Quirk("finish reason end_turn", "Anthropic gateways", _finish("end_turn")),
    Quirk("finish reason STOP", "Gemini", _finish("STOP")),
    Quirk("finish reason function_call", "Azure", _finish("function_call")),
    Quirk("finish reason stop with calls", "Ollama, LM Studio", _finish("stop")),
    Quirk("finish reason tool_calls without calls", "LM Studio", _finish("tool_calls")),
)
MESSAGES = (
    Quirk("no role", "proxies", _message("role", GONE)),
    Quirk("role is null", "vLLM", _message("role", None)),
    Quirk("role is empty", "LM Studio", _message("role", "")),
    Quirk("role in every chunk", "OpenRouter", _message("role", "assistant")),
    Quirk("no content beside calls", "llama.cpp", _message("content", GONE, "tool_calls")),
    Quirk("empty content beside calls", "Ollama", _message("content", "", "tool_calls")),
    Quirk("refusal is null", "OpenAI", _message("refusal", None)),
    Quirk("annotations", "OpenRouter", _message("annotations", [])),
    Quirk("reasoning_content", "DeepSeek, vLLM", _message("reasoning_content", "I think.")),
    Quirk("reasoning_content is null", "DeepSeek", _message("reasoning_content", None)),
    Quirk("reasoning", "OpenRouter, Groq", _message("reasoning", "I think.")),
    Quirk("content as a refusal", "OpenAI", _refusal),
    Quirk("function_call is null", "older vLLM", _message("function_call", None)),
    Quirk("tool_calls is null", "Groq, Mistral", _without_calls(None)),
    Quirk("tool_calls is an empty list", "vLLM, LM Studio", _without_calls([])),
    Quirk("content as a list of texts", "Mistral", _text(lambda text: [{"type": "text", "text": text}])),
    Quirk("content as a list of strings", "proxies", _text(lambda text: [text])),
    Quirk(
        "content as thinking and text",
        "Mistral, Anthropic gateways",
        _text(lambda text: [{"type": "thinking", "thinking": "I think."}, {"type": "text", "text": text}]),
    ),
)
CALLS = (
    Quirk("call without id", "Ollama, Gemini", _call("id", GONE)),
    Quirk("id of a call is null", "vLLM", _call("id", None)),
    Quirk("id of a call is empty", "Gemini", _call("id", "")),
    Quirk("id of a call is a number", "proxies", _call("id", 3)),
    Quirk("call without type", "Mistral, Ollama", _call("type", GONE)),
    Quirk("type of a call is null", "vLLM", _call("type", None)),
    Quirk(
        "index of a call begins at 1",
        "proxies",
        _calls(lambda call: call.update(index=call.get("index", 0) + 1)),
    ),
    Quirk("call without index", "Gemini", _call("index", GONE)),
    Quirk("arguments as an object", "Ollama", _arguments(json.loads)),
    Quirk("arguments encoded twice", "small models", _arguments(json.dumps)),
    Quirk("arguments in a fence", "small models", _arguments(lambda text: f"```json\n{text}\n```")),
    Quirk("arguments with blanks around", "small models", _arguments(lambda text: f"\n {text} \n")),
    Quirk(
        "arguments with a comma too many",
        "small models",
        _arguments(lambda text: f"{text[:-1].rstrip()},}}" if len(text) > 2 else text),
    ),
    Quirk("arguments are null", "vLLM", _arguments(lambda text: None if text == "{}" else text)),
    Quirk("arguments are empty", "Anthropic gateways", _arguments(lambda text: "" if text == "{}" else text)),
    Quirk("no arguments", "LM Studio", _arguments(lambda text: text if text != "{}" else "{}")),
)


QUIRKS = (*FIELDS, *MESSAGES, *CALLS, *STREAM, *REFUSALS, *PARALLEL, *PIECES, *BODIES, *FAILURES)
