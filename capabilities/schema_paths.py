"""What a JSON schema says of a place in a value, and whether a value of one schema can be one of another.

Only what is certain counts: where a schema does not say, everything is possible. It reads `type`,
`properties`, `additionalProperties`, `items`, `prefixItems`, `anyOf`, `oneOf`, `enum`, `const` and `$ref`
within the schema (JSON Schema 2020-12).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

JsonSchema = Mapping[str, Any]
"""A JSON schema as it is read: the types of its values are what it is about."""
MOST_STEPS_DOWN = 20  # of `$ref` and of nested alternatives; a schema may name itself
_OF_VALUE = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_SCALARS = frozenset(("string", "integer", "number", "boolean"))
# What pydantic makes of a value where another type is asked for (its conversion table, in lax mode).
_BECOMES = {
    "string": _SCALARS,
    "integer": frozenset(("integer", "number", "boolean")),
    "number": frozenset(("integer", "number", "boolean")),
    "boolean": frozenset(("integer", "number", "boolean")),
}


@dataclass(frozen=True)
class SchemaPlace:
    """A part of a schema, and the whole that its `$ref`s lead into."""

    part: JsonSchema
    """This part of the schema."""
    whole: JsonSchema
    """The schema that references inside it lead into."""

    def at(self, schema: object) -> SchemaPlace | None:
        """Go to another part of the same schema; None where that says nothing."""
        return SchemaPlace(schema, self.whole) if isinstance(schema, Mapping) and schema else None


class NotThere(Exception):
    """No value of the schema has such a place; `names` are those that there are."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        super().__init__()
        self.names = tuple(names)


def root_place(schema: JsonSchema) -> SchemaPlace:
    """Begin at the whole of a schema."""
    return SchemaPlace(schema, schema)


def place_in(place: SchemaPlace, path: Sequence[str]) -> SchemaPlace | None:
    """Follow keys and indexes into a schema; None where it does not say. Raises NotThere."""
    for part in path:
        ways: list[SchemaPlace | None] = []
        names: list[str] = []
        for way in alternatives(place):
            if way is None:
                return None
            try:
                ways.append(_inside(way, part))
            except NotThere as error:
                names += error.names
        if not ways:
            raise NotThere(names)
        if len(ways) > 1 or ways[0] is None:
            return None
        place = ways[0]
    return place


def fits(offered: SchemaPlace | None, wanted: SchemaPlace | None, depth: int = 0) -> bool:
    """Say whether a value of one schema may be taken where another is asked for."""
    if offered is None or wanted is None or depth > MOST_STEPS_DOWN:
        return True
    return any(
        offer is None or want is None or _may_become(offer, want, depth)
        for offer in alternatives(offered)
        for want in alternatives(wanted)
    )


def type_names(place: SchemaPlace) -> str:
    """Name in words what a value there may be."""
    named = dict.fromkeys(kind for way in alternatives(place) if way for kind in _types(way) or ("anything",))
    return " or ".join(named)


def alternatives(place: SchemaPlace, depth: int = 0) -> Iterator[SchemaPlace | None]:
    """List what a value there may be, one by one; None for what the schema does not say."""
    part = place.part
    if depth > MOST_STEPS_DOWN:
        yield None
    elif "$ref" in part:
        target = reference_target(str(part["$ref"]), place.whole)
        if target is None:
            yield None
        else:
            yield from alternatives(SchemaPlace(target, place.whole), depth + 1)
    elif isinstance(ways := part.get("anyOf", part.get("oneOf")), list):
        for way in ways:
            inner = place.at(way)
            if inner is None:
                yield None
            else:
                yield from alternatives(inner, depth + 1)
    else:
        yield place if _types(place) else None


def _types(place: SchemaPlace) -> tuple[str, ...]:
    kind = place.part.get("type")
    if isinstance(kind, str):
        return (kind,)
    if isinstance(kind, list):
        return tuple(map(str, kind))
    values = place.part.get("enum", [place.part["const"]] if "const" in place.part else [])
    known = [_OF_VALUE.get(type(value), "") for value in values] if isinstance(values, list) else []
    return tuple(dict.fromkeys(known)) if all(known) else ()


def _may_become(offered: SchemaPlace, wanted: SchemaPlace, depth: int) -> bool:
    return any(
        _kind_becomes(offer, want, wanted) and _inner_fit(offer, offered, wanted, depth)
        for offer in _types(offered)
        for want in _types(wanted)
    )


def _kind_becomes(offered: str, wanted: str, place: SchemaPlace) -> bool:
    formatted = wanted == "string" and "format" in place.part and offered in ("integer", "number")
    return offered == wanted or wanted in _BECOMES.get(offered, ()) or formatted  # a time may be a number


def _inner_fit(kind: str, offered: SchemaPlace, wanted: SchemaPlace, depth: int) -> bool:
    if kind == "array":
        return fits(offered.at(offered.part.get("items")), wanted.at(wanted.part.get("items")), depth + 1)
    if kind == "object":
        mine, theirs = offered.part.get("properties") or {}, wanted.part.get("properties") or {}
        return all(
            fits(offered.at(mine[n]), wanted.at(theirs[n]), depth + 1) for n in mine.keys() & theirs.keys()
        )
    return True


def _inside(place: SchemaPlace, part: str) -> SchemaPlace | None:
    types = _types(place)
    if "array" in types and part.isascii() and part.isdigit():
        first = place.part.get("prefixItems")
        if isinstance(first, list) and int(part) < len(first):
            return place.at(first[int(part)])
        return place.at(place.part.get("items"))
    if "object" not in types:
        raise NotThere
    properties = place.part.get("properties")
    if not isinstance(properties, Mapping) or part in properties:
        further = place.part.get("additionalProperties")
        return place.at(properties[part] if properties and part in properties else further)
    if place.part.get("additionalProperties") or "patternProperties" in place.part:
        return place.at(place.part.get("additionalProperties"))
    raise NotThere(list(properties))


def reference_target(reference: str, whole: JsonSchema) -> JsonSchema | None:
    target: object = whole
    if not reference.startswith("#"):
        return None
    for part in filter(None, reference[1:].split("/")):
        target = (
            target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        )
    return target if isinstance(target, Mapping) else None


def has_field(value: JsonValue, place: tuple[int | str, ...]) -> bool:
    """Say whether a value has a field; parts of the place that name the member of a union lead nowhere."""
    for part in place[:-1]:
        if isinstance(value, dict) and part in value:
            value = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
    return isinstance(value, dict) and place[-1] in value


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
