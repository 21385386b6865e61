"""Tool calls in words, for models without function calling.

The tools stand in the system prompt, and the model writes each call as a tagged block of JSON. The tag
carries a nonce of this one turn, so text from elsewhere cannot hold a valid block; a block that is not
exactly right becomes an error that the model reads, never a call.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from planwright.domain.hashing import canonical_json
from planwright.prompts import render

_TAG = re.compile(r"<(?=\s*(?:/\s*)?tool_(?:call|result))", re.IGNORECASE)
_OPENING = re.compile(r"<\s*tool_call\b[^<>]*>?", re.IGNORECASE)
_CLOSING = re.compile(r"\s*</tool_call>")
_STRAY = re.compile(r"<\s*/\s*tool_call\b[^<>]*>?", re.IGNORECASE)
_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One block of a reply: where it stands, and the call it makes or what is wrong with it."""

    start: int
    """Where it begins in the reply, in characters."""
    end: int
    """Where it ends in the reply, in characters."""
    name: str = ""
    """Name of the tool that it calls; "" where it calls none."""
    arguments: Mapping[str, Any] | None = None
    """Arguments of the call; None where they cannot be read."""
    error: str = ""
    """What is wrong with the block; "" where nothing is."""


def new_nonce() -> str:
    """Make what a block of one turn has to carry."""
    return secrets.token_hex(8)


def in_words(
    messages: Sequence[AnyMessage], tools: Sequence[Mapping[str, Any]], nonce: str
) -> list[AnyMessage]:
    """Spell a conversation for a model that knows no tools: its calls and their results become text."""
    functions = [tool["function"] for tool in tools]
    instructions = render("tool_bridge", nonce=nonce, tools=canonical_json(functions))
    first = messages[0] if messages and isinstance(messages[0], SystemMessage) else None
    spelled: list[AnyMessage] = [SystemMessage(f"{first.text}\n\n{instructions}" if first else instructions)]
    for message in messages[1:] if first else messages:
        if isinstance(message, ToolMessage):
            result = f'<tool_result nonce="{nonce}">{escaped(message.text)}</tool_result>'
            if isinstance(spelled[-1], HumanMessage) and spelled[-1].text.startswith("<tool_result "):
                result = f"{spelled.pop().text}\n{result}"
            spelled.append(HumanMessage(result))
        elif isinstance(message, AIMessage):
            spelled.append(AIMessage("\n".join([escaped(message.text), *_calls(message, nonce)]).strip()))
        else:
            spelled.append(HumanMessage(escaped(message.text)))
    return spelled


def escaped(text: str) -> str:
    """Take the meaning from every tag of ours in a text that somebody else may have written."""
    return _TAG.sub("&lt;", text)


def read_calls(reply: AIMessage, nonce: str) -> AIMessage:
    """Read the calls a model has written; its other words stay, its thoughts do not.

    What is no call after all is kept in `invalid_tool_calls`, with what is wrong with it.
    """
    text = without_thoughts(reply.text)
    call_blocks = list(blocks(text, nonce))
    words, at = "", 0
    for block in call_blocks:
        words, at = words + text[at : block.start], block.end
    calls, wrong = [], []
    for position, block in enumerate(call_blocks):
        id_ = f"call_{position}"
        if block.arguments is None:
            wrong.append({"name": block.name or None, "args": None, "id": id_, "error": block.error})
        else:
            calls.append({"name": block.name, "args": dict(block.arguments), "id": id_})
    return AIMessage(
        (words + text[at:]).strip(),
        tool_calls=calls,
        invalid_tool_calls=wrong,
        id=reply.id,
        usage_metadata=reply.usage_metadata,
        response_metadata=reply.response_metadata,
    )


def without_thoughts(text: str) -> str:
    """Leave out what a model thinks aloud, also when it has not come to an end."""
    return _THOUGHT.sub("", text)


def first_block(text: str) -> int | None:
    """Find where the first block of a text begins, right or wrong, complete or not."""
    starts = [match.start() for pattern in (_OPENING, _STRAY) if (match := pattern.search(text))]
    return min(starts, default=None)


def blocks(text: str, nonce: str) -> Iterator[Block]:
    """Find every block in a text, right or wrong."""
    right, at = f'<tool_call nonce="{nonce}">', 0
    openings, strays = _Marks(_OPENING, text), _Marks(_STRAY, text)
    while True:
        opening, stray = openings.after(at), strays.after(at)
        if stray and (opening is None or stray.start() < opening.start()):
            yield Block(stray.start(), stray.end(), error="a </tool_call> without its <tool_call>")
            at = stray.end()
        elif opening is None:
            return
        else:
            right_tag = opening.group() == right
            block = _block(text, opening, right_tag, openings, strays)
            yield block
            at = block.end


class _Marks:
    """Where a pattern stands in a text, found once each, for places that only move on."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._rest = pattern.finditer(text)
        self._next = next(self._rest, None)

    def after(self, at: int) -> re.Match[str] | None:
        """Find the first at a place or behind it."""
        while self._next and self._next.start() < at:
            self._next = next(self._rest, None)
        return self._next


def _block(text: str, opening: re.Match[str], right: bool, openings: _Marks, strays: _Marks) -> Block:
    """Read one block. One that is wrong ends where the next begins, or with what closes it."""

    def wrong(error: str) -> Block:
        ends = [match.start() for match in [openings.after(opening.end())] if match]
        ends += [match.end() for match in [strays.after(opening.end())] if match]
        return Block(opening.start(), min(ends, default=len(text)), error=error)

    if not right:
        return wrong("its tag is not <tool_call nonce=…> with the nonce of this turn")
    try:
        value, end = _STRICT.raw_decode(text, _skip_space(text, opening.end()))
    except (ValueError, RecursionError) as error:
        return wrong(f"between its tags stands no JSON object: {error}")
    closing = _CLOSING.match(text, end)
    if closing is None:
        return wrong("it is not closed directly after its JSON object")
    flaw = _flaw(value)
    if flaw:
        return Block(opening.start(), closing.end(), error=flaw)
    return Block(opening.start(), closing.end(), value["name"], value["arguments"])


def _flaw(value: object) -> str:
    if not isinstance(value, dict) or set(value) != {"name", "arguments"}:
        return "its JSON is no object with exactly the keys `name` and `arguments`"
    if not isinstance(value["name"], str) or not isinstance(value["arguments"], dict):
        return "its `name` has to be a text, and its `arguments` an object"
    return ""


def _calls(message: AIMessage, nonce: str) -> Iterator[str]:
    for call in message.tool_calls:
        content = json.dumps({"name": call["name"], "arguments": call["args"]}, ensure_ascii=False)
        yield f'<tool_call nonce="{nonce}">{content}</tool_call>'


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(fields := dict(pairs)) != len(pairs):
        raise ValueError("a key stands in it twice")
    return fields


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


_STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)
