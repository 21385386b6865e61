"""The Responses API of OpenAI, without a store: items of thinking come encrypted, and are wanted back so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from benchmarks.contract_chat import Refused, cut
from benchmarks.contract_model import Conversation, Json, Reply, Turn

MOVED = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens", "messages": "input"}


class Responses:
    """A model of OpenAI that thinks, by the Responses API."""

    name = "responses"
    path = "/v1/responses"
    model = "gpt-5-mini"
    source = "https://platform.openai.com/docs/guides/reasoning"
    capabilities: tuple[str, ...] = ("function_calling", "json_mode")
    settings: Mapping[str, Any] = MappingProxyType({"api": "responses"})

    def __init__(self) -> None:
        self.count = 0
        self.altered: list[str] = []
        self._before: dict[str, str] = {}
        """The item of thinking that each call came after, by the id of the call's item."""

    def read(self, request: Json) -> Conversation:
        """Read a request. Raises Refused as the real one refuses it."""
        for name in request.keys() & MOVED:
            raise _refusal(
                f"Unsupported parameter: '{name}'. Use '{MOVED[name]}' in the Responses API.", name
            )
        if "stream_options" in request and "include_usage" in request["stream_options"]:
            raise _refusal("Unknown parameter: 'stream_options.include_usage'.", "stream_options")
        if request.get("temperature", 1) != 1:
            raise _refusal(
                "Unsupported parameter: 'temperature' is not supported with this model.", "temperature"
            )
        items: list[Json] = request["input"]
        for at, item in enumerate(items):
            self._check(at, item, items, request)
        said = [item for item in items if item.get("type", "message") == "message"]
        system = "\n".join(_text(item) for item in said if item["role"] in ("system", "developer"))
        turns = [_turn(item) for item in items if item.get("role") not in ("system", "developer")]
        tools = [tool["name"] for tool in request.get("tools") or ()]
        shaped = request.get("text", {}).get("format", {}).get("type", "text") != "text"
        return Conversation(system, turns, tools, shaped)

    def _check(self, at: int, item: Json, items: list[Json], request: Json) -> None:
        kind, id_ = item.get("type", "message"), item.get("id", "")
        after = items[at + 1] if at + 1 < len(items) else {}
        if kind == "reasoning":
            if not item.get("encrypted_content") and not request.get("store", True):
                not_there = "Items are not persisted when `store` is set to false."
                raise _refusal(f"Item with id '{id_}' not found. {not_there}", "input", 404)
            if item["encrypted_content"] != self._encrypted(id_):
                raise _refusal("The encrypted content could not be verified.", "invalid_encrypted_content")
            if after.get("type") not in ("function_call", "message", "reasoning"):
                raise _refusal(
                    f"Item '{id_}' of type 'reasoning' was provided without its required following item."
                )
        if kind == "function_call":
            wanted = self._before.get(id_)
            if wanted and wanted not in [each.get("id") for each in items[:at]]:
                lacks = f"without its required 'reasoning' item: '{wanted}'."
                raise _refusal(f"Item '{id_}' of type 'function_call' was provided {lacks}")
            if not any(each.get("call_id") == item["call_id"] for each in items[at + 1 :]):
                raise _refusal(f"No tool output found for function call {item['call_id']}.")
            if id_ not in self._before and item["call_id"].startswith("call_responses"):
                self.altered.append(f"the call {item['call_id']} came back without its item")
        if kind == "function_call_output" and not any(
            each.get("call_id") == item["call_id"] for each in items[:at]
        ):
            raise _refusal(f"No tool call found for function call output with call_id {item['call_id']}.")

    def _encrypted(self, id_: str) -> str:
        return f"gAAAAA{id_}=="

    def _items(self, reply: Reply) -> list[Json]:
        """Spell a reply as the items of a response."""
        self.count += 1
        number = self.count
        id_ = f"rs_{number}"
        summary = [{"type": "summary_text", "text": reply.thoughts}]
        items: list[Json] = [
            {"id": id_, "type": "reasoning", "summary": summary, "encrypted_content": self._encrypted(id_)}
        ]
        for position, (name, arguments) in enumerate(reply.calls):
            item = f"fc_{number}_{position}"
            self._before[item] = id_
            items.append(
                {
                    "id": item,
                    "type": "function_call",
                    "status": "completed",
                    "name": name,
                    "call_id": f"call_responses_{number}_{position}",
                    "arguments": json.dumps(arguments),
                }
            )
        if reply.text:
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            message = {"type": "message", "role": "assistant", "status": "completed", "content": content}
            items.append({"id": f"msg_{number}", **message})
        return items

    def whole(self, reply: Reply, request: Json) -> Json:
        """Spell a reply that is not streamed."""
        return self._response(self._items(reply), request, "completed")

    def _response(self, items: list[Json], request: Json, status: str) -> Json:
        usage: Json = {"input_tokens": 100, "output_tokens": 40, "total_tokens": 140}
        usage |= {
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 20},
        }
        rest: Json = {
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "temperature": 1.0,
        }
        rest |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "top_p": 1.0}
        head = {"id": f"resp_{self.count}", "object": "response", "created_at": 1, "model": request["model"]}
        return {**head, **rest, "status": status, "output": items, "usage": usage if items else None}

    def events(self, reply: Reply, request: Json) -> Iterator[bytes]:
        """Spell a reply as the events of a stream."""
        items = self._items(reply)
        for number, body in enumerate(self._bodies(items, request)):
            numbered = json.dumps({**body, "sequence_number": number})
            yield f"event: {body['type']}\ndata: {numbered}\n\n".encode()

    def _bodies(self, items: list[Json], request: Json) -> Iterator[Json]:
        yield {"type": "response.created", "response": self._response([], request, "in_progress")}
        for index, item in enumerate(items):
            at = {"output_index": index, "item_id": item["id"]}
            yield from {"reasoning": _thinking, "function_call": _call, "message": _message}[item["type"]](
                item, at
            )
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": "response.completed", "response": self._response(items, request, "completed")}


def _thinking(item: Json, at: Json) -> Iterator[Json]:
    begun = {**item, "summary": [], "encrypted_content": "gAAAAA"}
    part = {**at, "summary_index": 0}
    yield {"type": "response.output_item.added", "output_index": at["output_index"], "item": begun}
    empty = {"type": "summary_text", "text": ""}
    yield {"type": "response.reasoning_summary_part.added", **part, "part": empty}
    for piece in cut(item["summary"][0]["text"]):
        yield {"type": "response.reasoning_summary_text.delta", **part, "delta": piece}
    yield {"type": "response.reasoning_summary_text.done", **part, "text": item["summary"][0]["text"]}
    yield {"type": "response.reasoning_summary_part.done", **part, "part": item["summary"][0]}


def _call(item: Json, at: Json) -> Iterator[Json]:
    begun = {**item, "arguments": "", "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": at["output_index"], "item": begun}
    half = len(item["arguments"]) // 2
    for piece in (item["arguments"][:half], item["arguments"][half:]):
        yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
    done = {"arguments": item["arguments"], "name": item["name"]}
    yield {"type": "response.function_call_arguments.done", **at, **done}


def _message(item: Json, at: Json) -> Iterator[Json]:
    part, text = {**at, "content_index": 0}, item["content"][0]["text"]
    begun = {**item, "content": [], "status": "in_progress"}
    yield {"type": "response.output_item.added", "output_index": at["output_index"], "item": begun}
    empty = {"type": "output_text", "text": "", "annotations": []}
    yield {"type": "response.content_part.added", **part, "part": empty}
    for piece in cut(text):
        yield {"type": "response.output_text.delta", **part, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **part, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **part, "part": item["content"][0]}


def _turn(item: Json) -> Turn:
    kind = item.get("type", "message")
    if kind == "function_call":
        return Turn("assistant", "", [item["name"]])
    if kind == "function_call_output":
        return Turn("tool", str(item["output"]))
    return Turn(item.get("role", "assistant"), _text(item) if kind == "message" else "")


def _text(item: Json) -> str:
    content = item.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _refusal(text: str, param: str | None = None, status: int = 400) -> Refused:
    body = {"message": text, "type": "invalid_request_error", "param": param, "code": None}
    return Refused(text, {"error": body}, status)
