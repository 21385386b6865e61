"""Calls that a model writes as text, since its server does not read the spelling of its chat template.

What is read is strict: all calls of a reply are of tools that were offered, with an object as arguments, and
behind the first one stands nothing else. What only looks like a call of such a tool is told to the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from planwright.models.json_reply import LONGEST_REPLY
from planwright.models.replies.call_formats import BARE, FORMATS
from planwright.models.replies.call_spellings import SpelledCall, Spelling
from planwright.models.replies.structured import Schema
from planwright.models.replies.tool_bridge import without_thoughts
from planwright.models.replies.truncated import why_unfinished

Schemas = Sequence[Schema]
MOST_ENDS = 20  # closing marks that are tried for one opening mark: arguments may hold some
MOST_LOOKED_AT = 20  # places of a reply where a call could begin
_ENDS = (
    *("</s>", "<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|end|>", "<|call|>", "<|return|>", "<|endoftext|>"),
    *(
        "<|end_of_text|>",
        "<|END_OF_TURN_TOKEN|>",
        "<end_of_turn>",
        "<｜end▁of▁sentence｜>",
        "<|message_sep|>",
    ),
)
"""Marks of the end of a reply, which servers cut off or leave."""


_OPENS = re.compile("|".join(f"(?:{each.opens})" for each in FORMATS), re.MULTILINE)
_COMPILED = [(re.compile(f.opens, re.M), re.compile(f.closes, re.M), f.spelled) for f in FORMATS]
_PLACE_OF_A_NAME = re.compile(
    r"(?:\"(?:name|tool_name|tool|function|action)\"\s*:\s*\"|[=\[>({:\]][ \t\n]*\"?|functions\.|\A\s*\"?"
    r"|\n[ \t]*)"
    r"(?P<name>[A-Za-z_][\w./-]*)(?=\s*[\"'(\[{<>:\n｜]|\Z)"
)
_FENCED = re.compile(r"^```[\w-]*[ \t]*\n.*?^[ \t]*```", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"^[\[{].*", re.MULTILINE)
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_LOOSE = re.compile(r"\\+[nrt]|[\s\\\"'`]+")


def with_written_calls(reply: AIMessage, tools: Schemas, messages: Sequence[AnyMessage]) -> AIMessage:
    """Read the calls that a reply has in its text, and in no other place; else give it back as it is.

    What stands in the conversation before, as a user or a tool wrote it, is no call: it is a quotation.
    """
    if reply.tool_calls or reply.invalid_tool_calls or why_unfinished(reply):
        return reply
    text, names = without_thoughts(reply.text), _names(tools)
    row = _read(text, names) if names and len(text) <= LONGEST_REPLY else None  # a longer one is refused
    if row is None:
        return reply
    at, calls = row
    if _is_quoted(text[at:], messages):
        return reply
    tool_calls = [{"name": call.name, "args": _typed(call, tools), "id": None} for call in calls]
    return reply.model_copy(update={"content": text[:at].strip(), "tool_calls": tool_calls})


def written_call(text: str, tools: Schemas) -> str:
    """Name a tool that a text seems to call; "" for words, also for those about calls."""
    text, names = without_thoughts(text), _names(tools)
    for mark in islice(_OPENS.finditer(text), MOST_LOOKED_AT):
        following = _PLACE_OF_A_NAME.finditer(text[mark.end() : mark.end() + 2_000])
        if name := next((name for m in following if (name := _resolved(m["name"], names))), ""):
            return name
    parts = [match[0] for match in islice(_FENCED.finditer(text), MOST_LOOKED_AT)]
    for line in islice(_LINE.finditer(text), MOST_LOOKED_AT):
        parts += [line[0], _first_value(text[line.start() :])]
    calls = next(filter(None, (_bare(part, names) for part in [text, *parts])), None)
    return calls[0].name if calls else ""


def _first_value(text: str) -> str:
    """Cut a text behind the value of JSON that it begins with; "" where it begins with none."""
    try:
        return text[: json.JSONDecoder(strict=False).raw_decode(text)[1]]
    except (ValueError, RecursionError):
        return ""


def _names(tools: Schemas) -> frozenset[str]:
    return frozenset(str(tool["function"]["name"]) for tool in tools)


def _read(text: str, names: frozenset[str]) -> tuple[int, list[SpelledCall]] | None:
    """Find where the calls of a text begin, and read them; None where it has none, or others, too."""
    text = _trimmed(text)
    first = _OPENS.search(text)
    if first is None:
        calls = _bare(text, names)
        return (0, calls) if calls else None
    at, calls = first.start(), list[SpelledCall]()
    while at < len(text):
        block = _block(text, at)
        if block is None:
            return None
        read, at = block
        calls += read
    known = [replace(call, name=_resolved(call.name, names)) for call in calls]
    return (first.start(), known) if all(call.name for call in known) else None


def _block(text: str, at: int) -> tuple[list[SpelledCall], int] | None:
    """Read what one opening mark opens, by each format of that mark; say where the next one begins."""
    for opens, closes, spelled in _COMPILED:
        if not (mark := opens.match(text, at)):
            continue
        closings = islice(closes.finditer(text, mark.end()), MOST_ENDS)
        ends = [(each.start(), each.end()) for each in closings]
        for end, following in ends or [(len(text), len(text))]:
            if calls := _tried(spelled, text[mark.end() : end]):
                return calls, following + len(text[following:]) - len(text[following:].lstrip(" \n\t\r;,"))
    return None


def _bare(text: str, names: frozenset[str]) -> list[SpelledCall] | None:
    """Read a text that is nothing but calls of these tools, without marks."""
    for spelled in (form.spelled for form in BARE):
        calls = [replace(call, name=_resolved(call.name, names)) for call in _tried(spelled, text)]
        if calls and all(call.name for call in calls):
            return calls
    return None


def _tried(spelled: Spelling, text: str) -> list[SpelledCall]:
    try:
        return spelled(text)
    except (ValueError, RecursionError):
        return []


def _trimmed(text: str) -> str:
    """Leave out what marks the end of a reply."""
    trimmed = text.rstrip()
    while end := next((end for end in _ENDS if trimmed.endswith(end)), ""):
        trimmed = trimmed.removesuffix(end).rstrip()
    return trimmed


def _resolved(name: str, names: frozenset[str]) -> str:
    """Find the tool that a name means, which some spell with a namespace or with dots; "" for none."""
    bare = re.sub(r"\A(?:functions|tools|default_api)\.", "", name)
    return next((spelled for spelled in (name, bare, bare.replace(".", "__")) if spelled in names), "")


def _typed(call: SpelledCall, tools: Schemas) -> dict[str, object]:
    """Read the arguments that are spelled without a type by the schema of the tool: a text stays one."""
    parameters = next(
        t["function"].get("parameters", {}) for t in tools if t["function"]["name"] == call.name
    )
    properties = parameters.get("properties", {})
    return {
        name: _of_type(value, properties.get(name, {})) if name in call.texts else value
        for name, value in call.arguments.items()
    }


def _of_type(value: object, schema: Schema) -> object:
    if not isinstance(value, str):
        return value
    kinds = [schema, *schema.get("anyOf", ())]
    if any("string" in (kind.get("type") or ()) or _is_text(kind.get("enum", ())) for kind in kinds):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return {"True": True, "False": False, "None": None}.get(value.strip(), value)


def _is_text(values: Sequence[object]) -> bool:
    return any(isinstance(value, str) for value in values)


def _is_quoted(text: str, messages: Sequence[AnyMessage]) -> bool:
    """Say whether a text stands in what a user or a tool wrote, however that is escaped."""
    wanted = _loosely(text)
    others = (message for message in messages if isinstance(message, HumanMessage | ToolMessage))
    return any(wanted in _loosely(message.text) for message in others)


def _loosely(text: str) -> str:
    return _LOOSE.sub("", _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text))
