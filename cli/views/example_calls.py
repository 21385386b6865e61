"""An example of how a capability is called at a shell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from planwright.capabilities.schema_paths import JsonSchema
from planwright.presentation.argument_values import read_argument, resolved

EXAMPLES = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
DEEPEST = 5
"""Objects in objects that are filled: a schema may hold itself."""


def example_call(name: str, schema: JsonSchema) -> str:
    """Write the command that calls a capability with the arguments that have to be there.

    `schema` is the JSON schema of its arguments. Where it names no example, the value is one of its type.
    What no option can say stands in `--args`.
    """
    properties: Mapping[str, JsonSchema] = schema.get("properties", {})
    values = _required(schema, schema, 0)
    options = {key: _format(value) for key, value in values.items()}
    if all(_reads(options[key], values[key], properties[key], schema) for key in values):
        return shlex.join(["planwright", "call", name, *(f"--{key}={text}" for key, text in options.items())])
    return shlex.join(["planwright", "call", name, "--args", json.dumps(values, ensure_ascii=False)])


def _format(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _reads(text: str, value: object, property_: JsonSchema, schema: JsonSchema) -> bool:
    """Say whether an option is read as the value that it spells."""
    try:
        return bool(read_argument(text, property_, schema) == value)
    except ValueError:
        return False


def _required(part: JsonSchema, schema: JsonSchema, depth: int) -> dict[str, object]:
    """Fill the fields of an object that have to be there."""
    properties: Mapping[str, JsonSchema] = part.get("properties", {})
    if depth > DEEPEST:
        return {}
    return {
        key: _example(properties[key], schema, depth) for key in part.get("required", ()) if key in properties
    }


def _example(property_: JsonSchema, schema: JsonSchema, depth: int) -> object:
    """Take the value that a property names itself, or one of its type."""
    own = {**resolved(property_, schema), **property_}
    for key in ("examples", "enum"):
        if own.get(key):
            return own[key][0]
    if "const" in own:
        return own["const"]
    if parts := [*own.get("anyOf", ()), *own.get("oneOf", ()), *own.get("allOf", ())]:
        return _example(parts[0], schema, depth)
    if own.get("type") == "object":
        return _required(own, schema, depth + 1)
    if own.get("type") == "array" and own.get("minItems", 0):
        return [_example(own.get("items", {}), schema, depth + 1)] * int(own["minItems"])
    return EXAMPLES.get(own.get("type", ""), "text")
