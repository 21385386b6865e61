"""The catalogue of a planner: one line a capability, and more of those that fit the task best.

The lines are the same bytes for the same capabilities, so that a provider can go on from a prompt it knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import Registry
from planwright.capabilities.schema_paths import JsonSchema, SchemaPlace, alternatives, root_place
from planwright.domain.plan import CLOSING, DELEGATE, WHOLE
from planwright.prompts.fence import fenced, neutral

MOST_LINES = 150  # more do not fit a prompt that is to be short: then the shortlist is listed
MOST_DETAILED = 16
LINE = 1_200  # characters of one line: an MCP server may say as much as it likes
SENTENCE = 400  # characters of it that say what a call does
DETAILS = 16_000  # characters of all that is said of those that fit best
MOST_FIELDS, DEEPEST = 24, 3  # fields of one object, and objects within objects, that a line tells
_SHORT = {"string": "str", "integer": "int", "number": "number", "boolean": "bool"}


def catalogue_lines(capabilities: Iterable[Capability]) -> list[str]:
    """Describe each capability in one line, those to read first at the top."""
    offered = (capability for capability in capabilities if capability.name not in (WHOLE, *CLOSING))
    return [_line(capability) for capability in sorted(offered, key=lambda c: (c.guide.priority, c.name))]


def catalogue_scope(allowed: Registry, shortlist: Iterable[str]) -> list[Capability]:
    """Choose what a planner is told of: all that is allowed, unless that is too much for a prompt."""
    names = allowed.names if len(allowed) <= MOST_LINES else shortlist
    return [tool for name in names if (tool := allowed.get(name)) and tool.is_set_up]


def catalogue(capabilities: list[Capability]) -> str:
    """List capabilities for a prompt, those of MCP servers last and in a fence: others wrote of them."""
    own = catalogue_lines(capability for capability in capabilities if not capability.server)
    foreign = catalogue_lines(capability for capability in capabilities if capability.server)
    lines = [neutral("\n".join(own)), *([fenced(neutral("\n".join(foreign)))] if foreign else [])]
    return "\n".join(lines)


def describe_capability(capability: Capability) -> dict[str, object]:
    """Describe one capability to a model: what it does, takes, returns and risks."""
    schema = capability.args_schema
    return {
        "name": capability.name,
        "description": capability.description,
        "guide": capability.guide.instructions,
        "examples": list(capability.guide.examples),
        "args": {"properties": schema.get("properties", {}), "required": schema.get("required", [])},
        "result": sorted(capability.result_schema.get("properties", {})),
        "mode": capability.mode,
        "risk": capability.risk,
        "tags": list(capability.tags),
    }


def detailed(capabilities: Sequence[Capability], fitting: Iterable[str]) -> list[Capability]:
    """Choose of whom a line is not enough: what fits a task best, and what its user wrote a guide for."""
    by_name = {capability.name: capability for capability in capabilities if capability.is_set_up}
    best = [by_name[name] for name in fitting if name in by_name][:MOST_DETAILED]
    active = [capability for capability in capabilities if capability.guide.always_active]
    own = [capability for capability in capabilities if not capability.built_in]
    guided = [capability for capability in own if capability.guide.instructions]
    chosen = {capability.name: capability for capability in (*best, *active, *guided)}
    return [capability for capability in chosen.values() if _says_more(capability)]


def details(capabilities: Iterable[Capability]) -> list[dict[str, object]]:
    """Spell arguments in full, and when to use a capability, with examples, up to a length in all."""
    spelled, left = list[dict[str, object]](), DETAILS
    for capability in capabilities:
        fields: dict[str, object] = {
            "name": capability.name,
            "args": capability.args_schema,
        }
        if guide := capability.guide.instructions:
            fields["guide"] = guide
        if examples := capability.guide.examples:
            fields["examples"] = list(examples)
        left -= len(json.dumps(fields, ensure_ascii=False, default=str))
        if left < 0:
            break
        spelled.append(fields)
    return spelled


def _line(capability: Capability) -> str:
    schema = capability.args_schema
    properties, required = schema.get("properties", {}), schema.get("required", [])
    arguments = [
        f"{name}{'' if name in required else '?'}: {_kind(SchemaPlace(of, schema))}"
        for name, of in properties.items()
        if isinstance(of, Mapping)
    ]
    results = result_fields(capability.result_schema)
    care = "" if capability.mode == "read_only" else f" [{capability.mode}]"
    head = f"{capability.name}{care}({', '.join(arguments)}){f' -> {results}' if results else ''}"
    sentence = _cut(" ".join(capability.description.split()), SENTENCE)
    return f"{_cut(head, LINE - len(sentence) - 2)}: {sentence}"


def result_fields(schema: JsonSchema) -> str:
    """Say what a call returns: the fields of an object, with those inside of them; else its type."""
    place = _only(root_place(schema)) if schema else None
    if place is None:
        return ""
    return ", ".join(_fields(place, DEEPEST)) or _kind(place)


def _fields(place: SchemaPlace, depth: int) -> list[str]:
    """Name the fields of an object, each with what it holds: `messages[{id, text}]`."""
    properties = place.part.get("properties")
    if not isinstance(properties, Mapping):
        return []
    names = [f"{name}{_held(place.at(of), depth - 1)}" for name, of in properties.items()]
    return names if len(names) <= MOST_FIELDS else [*names[:MOST_FIELDS], "…"]


def _held(place: SchemaPlace | None, depth: int) -> str:
    only = _only(place) if place else None
    if only is None or depth < 0:
        return ""
    if only.part.get("type") == "array":
        return f"[{_held(only.at(only.part.get('items')), depth)}]"
    fields = ", ".join(_fields(only, depth))
    return f"{{{fields}}}" if fields else ""


def _only(place: SchemaPlace) -> SchemaPlace | None:
    """Follow references to the one form that a value has, apart from null; None where there are several."""
    ways = [way for way in alternatives(place) if way is None or way.part.get("type") != "null"]
    return ways[0] if len(ways) == 1 else None


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _kind(place: SchemaPlace | None, depth: int = DEEPEST) -> str:
    """Name the type of an argument as shortly as it can be read."""
    if place is None or depth < 0:
        return "any"
    schema = place.part
    if isinstance(options := schema.get("enum"), list):
        return "|".join(json.dumps(option, ensure_ascii=False) for option in options)
    if "$ref" in schema or isinstance(schema.get("anyOf", schema.get("oneOf")), list):
        ways = [way for way in alternatives(place) if way is None or way.part.get("type") != "null"]
        return "|".join(dict.fromkeys(_kind(way, depth - 1) for way in ways))
    kind = schema.get("type")
    if kind == "array":
        of = _kind(place.at(schema.get("items")), depth - 1)
        return f"({of})[]" if "|" in of else f"{of}[]"
    if kind == "object" and isinstance(properties := schema.get("properties"), Mapping):
        fields = [f"{name}: {_kind(place.at(of), depth - 1)}" for name, of in properties.items()]
        return f"{{{', '.join(fields[:MOST_FIELDS])}}}"
    return _SHORT.get(kind, kind) if isinstance(kind, str) else "any"


def _says_more(capability: Capability) -> bool:
    """Say whether a capability has more to say than its line: rules of arguments, or a guide."""
    plain = {"type", "title", "default", "items"}
    properties = capability.args_schema.get("properties", {})
    ruled = any(not isinstance(of, dict) or of.keys() - plain for of in properties.values())
    guide = capability.guide
    return capability.name not in (DELEGATE, *CLOSING) and (
        ruled or bool(guide.instructions or guide.examples)
    )
