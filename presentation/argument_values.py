"""Arguments of a call as they are typed: text as it stands, everything else as JSON, by their schema."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue

from planwright.presentation.rows import JsonMapping

Schema = JsonMapping
"""JSON schema of the arguments of a capability, or of one of them."""
KINDS: Mapping[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def read_argument(text: str, property_: Schema, schema: Schema) -> JsonValue:
    """Read one value by the type that the schema says; one item of a list of texts stays a text.

    Raises ValueError, which names the types, for what is none of them.
    """
    types = argument_types(property_, schema)
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if "array" in types and not isinstance(value, list):
        return text if "string" in argument_types(property_.get("items", {}), schema) else value
    if "string" not in types and types and isinstance(value, str):
        raise ValueError(" or ".join(types))
    typed = tuple(kind for type_ in types for kind in KINDS.get(type_, ()))
    return value if not types or isinstance(value, typed) else text


def argument_types(property_: Schema, schema: Schema) -> list[str]:
    """List the JSON types that an argument may have; none where its schema does not say."""
    property_ = resolved(property_, schema)
    parts = [*property_.get("anyOf", ()), *property_.get("oneOf", ())]
    own = property_.get("type", [])
    types = [own] if isinstance(own, str) else list(own)
    return types + [type_ for part in parts for type_ in argument_types(part, schema)]


def resolved(property_: Schema, schema: Schema) -> Schema:
    """Follow the reference of an argument into the definitions of its schema."""
    if "$ref" not in property_:
        return property_
    definition: Schema = schema.get("$defs", {}).get(str(property_["$ref"]).rpartition("/")[2], {})
    return definition
