"""The Messages API of Anthropic with thinking: blocks that are signed, and have to come back as they were."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from benchmarks.contract_chat import Refused, cut
from benchmarks.contract_model import Conversation, Json, Reply, Turn

THINKING = ("thinking", "redacted_thinking")
MOST_MARKS = 4


class Anthropic:
    """A model of Anthropic that thinks before it calls."""

    name = "anthropic"
    path = "/v1/messages"
    model = "claude-sonnet-4-6"
    source = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
    capabilities: tuple[str, ...] = ("function_calling", "json_schema")
    settings: Mapping[str, Any] = MappingProxyType(
        {"class": "langchain_anthropic:ChatAnthropic", "thinking_tokens": 2048}
    )

    def __init__(self) -> None:
        self.count = 0
        self.altered: list[str] = []
        self._sent: dict[str, list[Json]] = {}
        """Blocks of thinking of each reply, by the id of its first call."""

    def read(self, request: Json) -> Conversation:
        """Read a request. Raises Refused as the real one refuses it."""
        self._check_parameters(request)
        messages: list[Json] = [{**m, "content": _blocks(m["content"])} for m in request["messages"]]
        for at, message in enumerate(messages):
            self._check(at, message, messages, request)
        turns = [
            Turn(m["role"], _text(m["content"]), [b["name"] for b in m["content"] if b["type"] == "tool_use"])
            for m in messages
        ]
        tools = [tool["name"] for tool in request.get("tools") or ()]
        system = request.get("system") or ""
        shaped = "format" in request.get("output_config", {})
        return Conversation(_text(_blocks(system)), turns, tools, shaped)

    def _check_parameters(self, request: Json) -> None:
        thinking = request.get("thinking", {}).get("type") == "enabled"
        if "max_tokens" not in request:
            raise _refusal("max_tokens: Field required")
        if thinking and request["max_tokens"] <= request["thinking"]["budget_tokens"]:
            raise _refusal("`max_tokens` must be greater than `thinking.budget_tokens`.")
        if thinking and request.get("temperature", 1) != 1:
            raise _refusal("`temperature` may only be set to 1 when thinking is enabled.")
        if thinking and request.get("tool_choice", {}).get("type") in ("any", "tool"):
            raise _refusal("Thinking may not be enabled when tool_choice forces tool use.")
        if (marks := json.dumps(request).count('"cache_control"')) > MOST_MARKS:
            raise _refusal(f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")

    def _check(self, at: int, message: Json, messages: list[Json], request: Json) -> None:
        blocks = message["content"]
        if message["role"] not in ("user", "assistant"):
            raise _refusal(f'messages: Unexpected role "{message["role"]}".')
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            raise _refusal("messages: text content blocks must be non-empty")
        if message["role"] != "assistant":
            return
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        after = messages[at + 1]["content"] if at + 1 < len(messages) else []
        answered = [block["tool_use_id"] for block in after if block["type"] == "tool_result"]
        if missing := [id_ for id_ in calls if id_ not in answered]:
            found = f"`tool_use` ids were found without `tool_result` blocks immediately after: {missing[0]}"
            raise _refusal(f"messages.{at}: {found}.")
        newest = max(place for place, each in enumerate(messages) if each["role"] == "assistant")
        thinks = request.get("thinking", {}).get("type") == "enabled"
        if calls and thinks and at == newest and blocks[0]["type"] not in THINKING:
            raise _refusal(
                f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found"
                f" `{blocks[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start"
                " with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
            )
        own = self._sent.get(calls[0]) if calls else None
        back = [{k: v for k, v in block.items() if k != "cache_control"} for block in blocks]
        if own is not None and [block for block in back if block["type"] in THINKING] != own:
            self.altered.append(f"{own} came back as {back}"[:300])
            raise _refusal(
                f"messages.{at}.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant"
                " message cannot be modified. These blocks must remain as they were in the original response."
            )

    def _content(self, reply: Reply) -> list[Json]:
        """Spell a reply as blocks, and remember those of its thinking."""
        self.count += 1
        number = self.count
        thinking = [{"type": "thinking", "thinking": reply.thoughts, "signature": f"EqQB{number}=="}]
        if number % 2 == 0:
            thinking.append({"type": "redacted_thinking", "data": f"EmwK{number}=="})
        calls = [
            {"type": "tool_use", "id": f"toolu_{number}_{position}", "name": name, "input": arguments}
            for position, (name, arguments) in enumerate(reply.calls)
        ]
        if calls:
            self._sent[str(calls[0]["id"])] = thinking
        return [*thinking, *([{"type": "text", "text": reply.text}] if reply.text else []), *calls]

    def whole(self, reply: Reply, request: Json) -> Json:
        """Spell a reply that is not streamed."""
        usage = {"input_tokens": 100, "output_tokens": 40, "cache_read_input_tokens": 0}
        ends = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
        head = {"id": f"msg_{self.count}", "type": "message", "role": "assistant", "model": request["model"]}
        return {**head, "content": self._content(reply), **ends, "usage": usage}

    def events(self, reply: Reply, request: Json) -> Iterator[bytes]:
        """Spell a reply as the events of a stream."""
        for body in self._bodies(self.whole(reply, request)):
            yield f"event: {body['type']}\ndata: {json.dumps(body)}\n\n".encode()

    def _bodies(self, whole: Json) -> Iterator[Json]:
        begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
        yield {"type": "message_start", "message": begun}
        for index, block in enumerate(whole["content"]):
            empty = {"thinking": "", "signature": "", "text": "", "input": {}}
            start = {name: empty.get(name, held) for name, held in block.items()}
            yield {"type": "content_block_start", "index": index, "content_block": start}
            for delta in _deltas(block):
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        ends = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield {"type": "message_delta", "delta": ends, "usage": {"output_tokens": 40}}
        yield {"type": "message_stop"}


def _deltas(block: Json) -> Iterator[Json]:
    if block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": part} for part in cut(block["thinking"]))
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "text":
        yield from ({"type": "text_delta", "text": part} for part in cut(block["text"]))
    elif block["type"] == "tool_use":
        yield from (
            {"type": "input_json_delta", "partial_json": part} for part in cut(json.dumps(block["input"]))
        )


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(blocks: list[Json]) -> str:
    """Read the words of blocks, and of results in them."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    texts += [
        _text(_blocks(block.get("content") or "")) for block in blocks if block["type"] == "tool_result"
    ]
    return "\n".join(texts)


def _refusal(text: str) -> Refused:
    return Refused(text, {"type": "error", "error": {"type": "invalid_request_error", "message": text}})
