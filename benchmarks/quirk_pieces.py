"""The quirks of real servers in the pieces of a reply: chunks, parts of calls, forms of the body."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy

from benchmarks.quirk_server import MANY, Json, Quirk

_Chunks = Callable[[list[Json]], list[Json]]


def _deltas(parts: list[Json]) -> Iterator[Json]:
    for part in parts:
        for choice in part["choices"]:
            yield choice["delta"]


def _call_pieces(parts: list[Json]) -> Iterator[Json]:
    for delta in _deltas(parts):
        yield from delta.get("tool_calls", ())


def _each_piece(change: Callable[[int, Json], None]) -> _Chunks:
    """Change every piece of a call; the number says the how manyth piece of the reply it is."""

    def changed(parts: list[Json]) -> list[Json]:
        for at, piece in enumerate(_call_pieces(parts)):
            change(at, piece)
        return parts

    return changed


def _repeated(*names: str) -> _Chunks:
    """Repeat id or name of a call in each of its pieces."""

    def changed(parts: list[Json]) -> list[Json]:
        first: Json = {}
        for piece in _call_pieces(parts):
            first = piece if "name" in piece["function"] else first
            if "id" in names:
                piece["id"] = first["id"]
            if "name" in names:
                piece["function"]["name"] = first["function"]["name"]
        return parts

    return changed


def _split_names(parts: list[Json]) -> list[Json]:
    spelled = []
    for part in parts:
        for piece in _call_pieces([part]):
            if len(name := piece["function"].get("name", "")) > 2:
                begun = deepcopy(part)
                (head,) = _call_pieces([begun])
                head["function"] |= {"name": name[:4], "arguments": ""}
                piece.pop("id")
                piece["function"]["name"] = name[4:]
                spelled.append(begun)
        spelled.append(part)
    return spelled


def _late_names(parts: list[Json]) -> list[Json]:
    late = ""
    for piece in _call_pieces(parts):
        if "name" in piece["function"]:
            late = piece["function"].pop("name")
        else:
            piece["function"]["name"] = late
    return parts


def _joined(parts: list[Json]) -> list[Json]:
    """Put all that a reply says into one chunk with its end."""
    words = "".join(delta.get("content") or "" for delta in _deltas(parts))
    calls: dict[int, Json] = {}
    for piece in _call_pieces(parts):
        known = calls.setdefault(piece["index"], piece)
        if known is not piece:
            known["function"]["arguments"] += piece["function"]["arguments"]
    delta: Json = {"role": "assistant", "content": words or None}
    if calls:
        delta["tool_calls"] = list(calls.values())
    *_, end, usage = parts
    end["choices"][0]["delta"] = delta
    return [end, usage]


def _calls_in_one_chunk(parts: list[Json]) -> list[Json]:
    return _joined(parts) if any(_call_pieces(parts)) else parts


def _call_again(parts: list[Json]) -> list[Json]:
    """Say each call once more, whole, with the reason of the end."""
    *_, end, usage = deepcopy(parts)
    whole = _joined(deepcopy(parts))[0]["choices"][0]["delta"].get("tool_calls")
    if whole:
        end["choices"][0]["delta"] = {"tool_calls": whole}
    return [*parts[:-2], end, usage]


def _whole_message_last(parts: list[Json]) -> list[Json]:
    *_, end, usage = deepcopy(parts)
    end["choices"][0]["message"] = _joined(deepcopy(parts))[0]["choices"][0]["delta"]
    del end["choices"][0]["delta"]
    return [*parts[:-2], end, usage]


def _messages_for_deltas(parts: list[Json]) -> list[Json]:
    for part in parts:
        for choice in part["choices"]:
            choice["message"] = choice.pop("delta")
    return parts


def _end_first(parts: list[Json]) -> list[Json]:
    head, *middle, end, usage = parts
    return [head, end, *middle, usage] if any(_call_pieces(parts)) else parts


def _usage_everywhere(parts: list[Json]) -> list[Json]:
    return [{**part, "usage": parts[-1]["usage"]} for part in parts]


def _with_more(fields: Json) -> _Chunks:
    """Send one more chunk behind the end, with this as its only choice."""
    return lambda parts: [*parts[:-1], {**parts[0], "choices": [fields]}, parts[-1]]


def _as_legacy_call(content: Json) -> Json:
    content = deepcopy(content)
    for choice in content["choices"]:
        message = choice.get("message") or choice.get("delta") or {}
        for call in message.pop("tool_calls", ()):
            message["function_call"] = call["function"]
        if choice["finish_reason"] == "tool_calls":
            choice["finish_reason"] = "function_call"
    return content


def _calls_as_an_object(content: Json) -> Json:
    content = deepcopy(content)
    for choice in content["choices"]:
        message = choice.get("message") or choice.get("delta") or {}
        if calls := message.get("tool_calls"):
            message["tool_calls"] = calls[0]
    return content


def _index(value: object) -> _Chunks:
    return _each_piece(lambda at, piece: piece.update(index=value))


def _without(piece: Json, name: str) -> None:
    piece.pop(name, None)


def _as_lines(body: bytes, streamed: bool) -> bytes:
    return body.replace(b"data: [DONE]\n\n", b"").replace(b"data: ", b"").replace(b"\n\n", b"\n")


PARALLEL = (
    Quirk("parallel calls", MANY, calls=2),
    Quirk("parallel calls all with index 0", "LMDeploy, Dynamo, SGLang", events=_index(0), calls=2),
    Quirk("parallel calls all with index null", "proxies", events=_index(None), calls=2),
    Quirk(
        "parallel calls without index",
        "Gemini",
        events=_each_piece(lambda at, piece: _without(piece, "index")),
        calls=2,
    ),
    Quirk(
        "parallel calls with index 0 and without ids",
        "Ollama",
        events=_each_piece(lambda at, piece: piece.update(index=0, id="")),
        calls=2,
    ),
    Quirk(
        "parallel calls with one id",
        "small servers",
        events=_each_piece(lambda at, piece: piece.update(id="call_1") if "id" in piece else None),
        calls=2,
    ),
    Quirk(
        "parallel calls with index 0, id and name in every piece",
        "proxies",
        events=lambda parts: _index(0)(_repeated("id", "name")(parts)),
        calls=2,
    ),
    Quirk("parallel calls in one chunk", "Ollama, Gemini", events=_calls_in_one_chunk, calls=2),
)
PIECES = (
    Quirk("name in every piece", "NVIDIA NIM with MiniMax", events=_repeated("name")),
    Quirk("id and name in every piece", "SGLang, proxies", events=_repeated("id", "name")),
    Quirk("id in every piece", "SGLang", events=_repeated("id")),
    Quirk(
        "null as a text for later ids",
        "Z.ai",
        events=_each_piece(lambda at, piece: piece.setdefault("id", "null")),
    ),
    Quirk(
        "another id in every piece",
        "older vLLM",
        events=_each_piece(lambda at, piece: piece.update(id=f"call_{at}_x")),
    ),
    Quirk(
        "name is null in later pieces",
        "vLLM",
        events=_each_piece(lambda at, piece: piece["function"].setdefault("name", None)),
    ),
    Quirk(
        "name is empty in later pieces",
        "LM Studio",
        events=_each_piece(lambda at, piece: piece["function"].setdefault("name", "")),
    ),
    Quirk("name in two pieces", "Gemini", events=_split_names),
    Quirk("name behind the id", "proxies", events=_late_names),
    Quirk("index of a call as a text", "proxies", events=_index("0")),
    Quirk("index of a call is null", "proxies", events=_index(None)),
    Quirk("calls as an object", "TGI", part=_calls_as_an_object),
    Quirk("the whole call again at the end", "SGLang", events=_call_again),
    Quirk("the last chunk twice", "proxies", events=lambda parts: [*parts[:-1], *parts[-2:]]),
    Quirk(
        "an empty delta behind the end",
        "Ollama",
        events=_with_more({"index": 0, "delta": {"content": ""}, "finish_reason": None}),
    ),
    Quirk("an empty choice behind the end", "proxies", events=_with_more({})),
    Quirk("the end before the call", "Ollama", events=_end_first),
    Quirk("all in one chunk", "Gemini, LiteLLM", events=_joined),
    Quirk("message in the place of delta", "proxies", events=_messages_for_deltas),
    Quirk("the whole message in the last chunk", "MiniMax", events=_whole_message_last),
    Quirk(
        "arguments are null in the first piece",
        "vLLM",
        events=_each_piece(
            lambda at, piece: (
                piece["function"].update(arguments=None) if not piece["function"]["arguments"] else None
            )
        ),
    ),
    Quirk("function_call in the place of calls", "FastChat, older vLLM", part=_as_legacy_call),
    Quirk("usage in every chunk", "vLLM, xAI", events=_usage_everywhere),
)
BODIES = (
    Quirk("a whole body for a stream", "gateways that do not stream", answers="whole"),
    Quirk(
        "a whole body for a stream, said to be events",
        "gateways that do not stream",
        answers="whole",
        kind="text/event-stream",
    ),
    Quirk("a whole body said to be text", "small servers", answers="whole", kind="text/plain"),
    Quirk("a whole body without a content type", "small servers", answers="whole", kind=""),
    Quirk("the body said to be text", "small servers", kind="text/plain; charset=utf-8"),
    Quirk("the body said to be bytes", "proxies", kind="application/octet-stream"),
    Quirk("the body without a content type", "small servers", kind=""),
    Quirk("events said to be JSON", "proxies", kind="application/json"),
    Quirk("events for a whole body", "gateways that only stream", answers="stream"),
    Quirk(
        "lines of JSON for events",
        "Ollama",
        wire=lambda body, streamed: _as_lines(body, streamed) if streamed else body,
        kind="application/x-ndjson",
    ),
    Quirk(
        "more behind the JSON",
        "proxies",
        wire=lambda body, streamed: body if streamed else body + b"\n\ndata: [DONE]\n\n",
    ),
    Quirk(
        "bytes that are no UTF-8",
        "llama.cpp",
        wire=lambda body, streamed: body.replace(b'"quirky"', b'"quirky\xc3"'),
    ),
    Quirk(
        "NaN in a field",
        "vLLM",
        wire=lambda body, streamed: body.replace(b'"finish_reason"', b'"score": NaN, "finish_reason"'),
    ),
)
