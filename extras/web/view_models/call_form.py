"""A form for one call: a field for each argument, by the schema of the capability. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planwright.domain.errors import SetupError
from planwright.presentation.argument_values import Schema, argument_types, read_argument, resolved

PREFIX = "arg-"


@dataclass(frozen=True)
class CallField:
    """The field of one argument."""

    name: str
    """Name of the argument."""
    kind: str
    """Its types, in words."""
    required: bool
    """Whether the call needs it."""
    description: str
    """What it is, as the schema says; "" for nothing."""
    default: str
    """What it is where it is left out, as JSON; "" where nothing is."""
    choices: Sequence[str]
    """The values that it may have; empty where they are not listed."""
    value: str
    """What the field holds at first."""
    long: bool
    """Whether it has several lines."""


def argument_fields(schema: Schema, values: Mapping[str, Sequence[str]]) -> list[CallField]:
    """Make the fields of a call; `values` are those that were typed before, by name of their field."""
    required = schema.get("required", ())
    return [
        _field(name, property_, schema, name in required, values)
        for name, property_ in schema.get("properties", {}).items()
    ]


def _field(
    name: str, property_: Schema, schema: Schema, required: bool, values: Mapping[str, Sequence[str]]
) -> CallField:
    types, typed = argument_types(property_, schema), values.get(PREFIX + name, ())
    return CallField(
        name=name,
        kind=" or ".join(dict.fromkeys(type_ for type_ in types if type_ != "null")) or "any value",
        required=required,
        description=str(property_.get("description", "")),
        default=json.dumps(property_["default"], ensure_ascii=False) if "default" in property_ else "",
        choices=_choices(types, resolved(property_, schema)),
        value=typed[0] if len(typed) == 1 else "",
        long=bool({"object", "array"} & set(types)) or name in ("text", "body", "content", "sql"),
    )


def _choices(types: Sequence[str], property_: Schema) -> list[str]:
    if all(isinstance(choice, str) for choice in property_.get("enum", ())):
        choices = list(property_.get("enum", ()))
    else:
        choices = []
    return choices or (["true", "false"] if set(types) - {"null"} == {"boolean"} else [])


def call_arguments(schema: Schema, values: Mapping[str, Sequence[str]]) -> dict[str, JsonValue]:
    """Read the arguments of a call; what is left empty is left out. Raises SetupError for a wrong value.

    A list may be written as JSON, or one text a line.
    """
    arguments: dict[str, JsonValue] = {}
    for name, property_ in schema.get("properties", {}).items():
        typed = values.get(PREFIX + name, ())
        text = typed[0].replace("\r\n", "\n") if len(typed) == 1 else ""
        if text:
            arguments[name] = _argument(name, text, property_, schema)
    return arguments


def _argument(name: str, text: str, property_: Schema, schema: Schema) -> JsonValue:
    try:
        value = read_argument(text, property_, schema)
    except ValueError as error:
        raise SetupError(f"{name} is {error}, and not {text[:80]!r}", "write it as JSON") from error
    is_list = "array" in argument_types(property_, schema)
    return list[JsonValue](text.splitlines()) if is_list and isinstance(value, str) else value
