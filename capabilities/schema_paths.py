"""What a JSON schema says of a place in a value, and whether a value of one schema can be one of another.

Only what is certain counts: where a schema does not say, everything is possible. It reads `type`,
`properties`, `additionalProperties`, `items`, `prefixItems`, `anyOf`, `oneOf`, `enum`, `const` and `$ref`
within the schema (JSON Schema 2020-12).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]
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
class Place:
    """A part of a schema, and the whole that its `$ref`s lead into."""

    part: Schema
    """This part of the schema."""
    whole: Schema
    """The schema that references inside it lead into."""

    def at(self, schema: object) -> Place | None:
        """Go to another part of the same schema; None where that says nothing."""
        return Place(schema, self.whole) if isinstance(schema, Mapping) and schema else None


class NotThere(Exception):
    """No value of the schema has such a place; `names` are those that there are."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        super().__init__()
        self.names = tuple(names)


def whole(schema: Schema) -> Place:
    """Begin at the whole of a schema."""
    return Place(schema, schema)


def place_in(place: Place, path: Sequence[str]) -> Place | None:
    """Follow keys and indexes into a schema; None where it does not say. Raises NotThere."""
    for part in path:
        ways: list[Place | None] = []
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


def fits(given: Place | None, wanted: Place | None, depth: int = 0) -> bool:
    """Say whether a value of one schema may be taken where another is asked for."""
    if given is None or wanted is None or depth > MOST_STEPS_DOWN:
        return True
    return any(
        one is None or other is None or _may_become(one, other, depth)
        for one in alternatives(given)
        for other in alternatives(wanted)
    )


def kinds(place: Place) -> str:
    """Name in words what a value there may be."""
    named = dict.fromkeys(kind for way in alternatives(place) if way for kind in _types(way) or ("anything",))
    return " or ".join(named)


def alternatives(place: Place, depth: int = 0) -> Iterator[Place | None]:
    """List what a value there may be, one by one; None for what the schema does not say."""
    part = place.part
    if depth > MOST_STEPS_DOWN:
        yield None
    elif "$ref" in part:
        target = _target(str(part["$ref"]), place.whole)
        if target is None:
            yield None
        else:
            yield from alternatives(Place(target, place.whole), depth + 1)
    elif isinstance(ways := part.get("anyOf", part.get("oneOf")), list):
        for way in ways:
            inner = place.at(way)
            if inner is None:
                yield None
            else:
                yield from alternatives(inner, depth + 1)
    else:
        yield place if _types(place) else None


def _types(place: Place) -> tuple[str, ...]:
    kind = place.part.get("type")
    if isinstance(kind, str):
        return (kind,)
    if isinstance(kind, list):
        return tuple(map(str, kind))
    values = place.part.get("enum", [place.part["const"]] if "const" in place.part else [])
    known = [_OF_VALUE.get(type(value), "") for value in values] if isinstance(values, list) else []
    return tuple(dict.fromkeys(known)) if all(known) else ()


def _may_become(given: Place, wanted: Place, depth: int) -> bool:
    return any(
        _kind_becomes(one, other, wanted) and _inner_fit(one, given, wanted, depth)
        for one in _types(given)
        for other in _types(wanted)
    )


def _kind_becomes(given: str, wanted: str, place: Place) -> bool:
    formatted = wanted == "string" and "format" in place.part and given in ("integer", "number")
    return given == wanted or wanted in _BECOMES.get(given, ()) or formatted  # a time may be a number


def _inner_fit(kind: str, given: Place, wanted: Place, depth: int) -> bool:
    if kind == "array":
        return fits(given.at(given.part.get("items")), wanted.at(wanted.part.get("items")), depth + 1)
    if kind == "object":
        mine, theirs = given.part.get("properties") or {}, wanted.part.get("properties") or {}
        return all(
            fits(given.at(mine[n]), wanted.at(theirs[n]), depth + 1) for n in mine.keys() & theirs.keys()
        )
    return True


def _inside(place: Place, part: str) -> Place | None:
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


def _target(reference: str, whole: Schema) -> Schema | None:
    found: Any = whole
    if not reference.startswith("#"):
        return None
    for part in filter(None, reference[1:].split("/")):
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None
