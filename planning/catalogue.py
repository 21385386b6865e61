"""The catalogue of a planner: one line a capability, and more of those that fit the task best.

The lines are the same bytes for the same capabilities, so that a provider can go on from a prompt it knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from planwright.capabilities.contract import Capability
from planwright.capabilities.schema_paths import JsonSchema
from planwright.domain.plan import DELEGATE, WHOLE
from planwright.prompts.fence import fenced, neutral

MOST_LINES = 150  # more do not fit a prompt that is to be short: then the shortlist is listed
MOST_DETAILED = 8
LINE = 240  # characters of one line
SENTENCE = 120  # characters of it that say what a call does
DETAILS = 6_000  # characters of all that is said of those that fit best
_SHORT = {"string": "str", "integer": "int", "boolean": "bool", "array": "list"}


def catalogue_lines(capabilities: Iterable[Capability]) -> list[str]:
    """Describe each capability in one line of at most 240 characters, those to read first at the top."""
    offered = (capability for capability in capabilities if capability.name != WHOLE)
    return [_line(capability) for capability in sorted(offered, key=lambda c: (c.guide.priority, c.name))]


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
    by_name = {capability.name: capability for capability in capabilities}
    best = [by_name[name] for name in fitting if name in by_name][:MOST_DETAILED]
    active = [capability for capability in capabilities if capability.guide.always_active]
    own = [capability for capability in capabilities if not capability.built_in]
    guided = [capability for capability in own if capability.guide.instructions]
    chosen = {capability.name: capability for capability in (*best, *active, *guided)}
    return [capability for capability in chosen.values() if _says_more(capability)]


def details(capabilities: Iterable[Capability]) -> list[dict[str, object]]:
    """Spell arguments in full, and when to use a capability; at most 6,000 characters in all."""
    spelled, left = list[dict[str, object]](), DETAILS
    for capability in capabilities:
        fields: dict[str, object] = {
            "name": capability.name,
            "args": without_titles(capability.args_schema),
        }
        if guide := capability.guide.instructions:
            fields["guide"] = guide
        left -= len(json.dumps(fields, ensure_ascii=False, default=str))
        if left < 0:
            break
        spelled.append(fields)
    return spelled


def without_titles(schema: JsonSchema) -> JsonSchema:
    """Leave the titles out of a schema, which repeat the names of what they stand at."""
    return {key: _untitled(key, value) for key, value in schema.items() if key != "title"}


def _untitled(key: str, value: object) -> object:
    if key in ("properties", "$defs") and isinstance(value, dict):
        return {name: without_titles(of) if isinstance(of, dict) else of for name, of in value.items()}
    if key in ("default", "const", "enum", "examples", "required"):
        return value
    if isinstance(value, dict):
        return without_titles(value)
    if isinstance(value, list):
        return [without_titles(item) if isinstance(item, dict) else item for item in value]
    return value


def _line(capability: Capability) -> str:
    schema = capability.args_schema
    properties, required = schema.get("properties", {}), schema.get("required", [])
    arguments = [f"{name}{'' if name in required else '?'}: {_kind(of)}" for name, of in properties.items()]
    results = ", ".join(sorted(capability.result_schema.get("properties", {})))
    care = "" if capability.mode == "read_only" else f" [{capability.mode}]"
    head = f"{capability.name}{care}({', '.join(arguments)}){f' -> {results}' if results else ''}"
    sentence = _cut(" ".join(capability.description.split()), SENTENCE)
    return f"{_cut(head, LINE - len(sentence) - 2)}: {sentence}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _kind(schema: object) -> str:
    """Name the type of an argument as shortly as it can be read."""
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(options := schema.get("enum"), list):
        return "|".join(json.dumps(option, ensure_ascii=False) for option in options)
    if isinstance(branches := schema.get("anyOf"), list):
        return "|".join(dict.fromkeys(_kind(of) for of in branches if of != {"type": "null"}))
    kind = schema.get("type")
    if kind == "array":
        of = _kind(schema.get("items"))
        return f"({of})[]" if "|" in of else f"{of}[]"
    return _SHORT.get(kind, kind) if isinstance(kind, str) else "any"


def _says_more(capability: Capability) -> bool:
    """Say whether a capability has more to say than its line: rules of arguments, or a guide."""
    plain = {"type", "title", "default", "items"}
    properties = capability.args_schema.get("properties", {})
    ruled = any(not isinstance(of, dict) or of.keys() - plain for of in properties.values())
    return capability.name != DELEGATE and (ruled or bool(capability.guide.instructions))
