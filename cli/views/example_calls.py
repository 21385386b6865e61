"""An example of how a capability is called at a shell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from planwright.capabilities.schema_paths import JsonSchema

EXAMPLES = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


def example_call(name: str, schema: JsonSchema) -> str:
    """Write the command that calls a capability with the arguments that have to be there.

    `schema` is the JSON schema of its arguments. Where it names no example, the value is one of its type.
    """
    properties: Mapping[str, JsonSchema] = schema.get("properties", {})
    values = {key: _example(properties[key]) for key in schema.get("required", ()) if key in properties}
    options = [
        f"--{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
    ]
    return shlex.join(["planwright", "call", name, *options])


def _example(property_: JsonSchema) -> object:
    """Take the value that a property names itself, or one of its type."""
    for key in ("examples", "enum"):
        if property_.get(key):
            return property_[key][0]
    if "const" in property_:
        return property_["const"]
    kinds = [property_, *property_.get("anyOf", ())]
    return next((EXAMPLES[kind["type"]] for kind in kinds if kind.get("type") in EXAMPLES), "text")
