"""What a step that is left to a model, or a whole run, declares to return: fields by name, each with a type.

They are written briefly, `{"report": "str", "points": "str[]"}`, or as the JSON Schema of an object
(https://json-schema.org/draft/2020-12); either is kept as the schema. Of a step's the words `type`,
`properties`, `required`, `items`, `enum` and `description` count, of a run's typed answer all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, JsonValue, TypeAdapter, ValidationError

from planwright.domain.hashing import canonical_json

MOST_FIELDS, DEEPEST = 30, 4
LONGEST = 50_000  # characters of the schema of an answer: it stands in a prompt
AS_FIELDS = (
    'write {"report": "str", "points": "str[]", "rows": [{"name": "str"}]}: fields by name, each str, int,'
    " float or bool; [] behind a type for a list, a list of one object for records"
)
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("str", "string", "text", "date"), "string"),
        **dict.fromkeys(("int", "integer"), "integer"),
        **dict.fromkeys(("float", "number", "decimal"), "number"),
        **dict.fromkeys(("bool", "boolean"), "boolean"),
    }
)
_SCHEMAS = frozenset(("string", "integer", "number", "boolean", "array", "object"))
_FIELD = re.compile(r"[A-Za-z_]\w{0,63}\??")
Schema = dict[str, JsonValue]
_JSON: TypeAdapter[Schema] = TypeAdapter(Schema)
_WHOLE = frozenset(("$schema", "$defs", "$ref", "properties", "anyOf", "oneOf", "allOf"))


def read_returns(value: object) -> Schema | None:
    """Read what a step declares as a JSON Schema; None for nothing. Raises ValueError, with the form."""
    if value is None or value == {}:
        return None
    if not isinstance(value, Mapping):
        raise ValueError(AS_FIELDS)
    whole = value.get("type") == "object" and isinstance(value.get("properties"), Mapping)
    return _schema(value, 0) if whole else _of_fields(value, None, 0)


def read_answer_schema(value: object) -> Schema | None:
    """Read the form of an answer as a JSON Schema; None for nothing. Raises ValueError, saying why."""
    if value is None:
        return None
    if isinstance(value, type) and issubclass(value, BaseModel):
        value = value.model_json_schema()
    if not isinstance(value, Mapping) or not value:
        raise ValueError(
            "it takes a class of pydantic, a JSON Schema of an object, or fields with their types"
        )
    if value.get("type") != "object" and not _WHOLE & value.keys():
        return read_returns(value)
    try:
        schema = _JSON.validate_python(dict(value))
    except ValidationError as error:
        raise ValueError("it holds what is no JSON") from error
    if len(canonical_json(schema)) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST:,} characters")
    _check(schema)
    return schema


def _check(schema: Schema) -> None:
    """Raise ValueError for what is no schema of an object."""
    from jsonschema import Draft202012Validator  # here, for few runs have a typed answer
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as error:
        raise ValueError(f"it is no JSON Schema: {str(error).splitlines()[0]}") from error
    _check_references(schema)
    if schema.get("type", "object") != "object":
        raise ValueError(f"an answer is an object, and the schema is one of {schema['type']!r}")


def _check_references(schema: Schema) -> None:
    """Raise ValueError for a `$ref` that leads nowhere within the schema: nothing is fetched for it."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    whole = Registry[Any]().with_resource("", DRAFT202012.create_resource(schema))
    for reference in _references(schema):
        try:
            whole.resolver().lookup(reference)
        except Unresolvable as error:
            raise ValueError(f"its $ref {reference[:100]!r} leads nowhere within it") from error


def _references(value: JsonValue) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        if isinstance(reference := value.get("$ref"), str):
            yield reference
        for item in value.values():
            yield from _references(item)


def as_declared(value: JsonValue, schema: Mapping[str, JsonValue], name: str = "") -> JsonValue:
    """Take of a value what a schema has; a number that is written as a text counts as one.

    Raises ValueError, naming the field and what it has to be.
    """
    kind = schema["type"]
    if kind == "object" and isinstance(value, dict):
        return _object(value, schema, name)
    if kind == "array" and isinstance(value, list):
        of_item = schema["items"]
        return [
            as_declared(item, of_item, f"{name}.{n}")
            for n, item in enumerate(value)
            if isinstance(of_item, dict)
        ]
    if kind == "string" and isinstance(value, str):
        known = schema.get("enum")
        if not isinstance(known, list) or value in known:
            return value
        raise ValueError(f"`{name}` has to be one of {', '.join(map(str, known))}, and is {value[:40]!r}")
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind in ("integer", "number") and (number := _number(value, whole=kind == "integer")) is not None:
        return number
    raise ValueError(f"`{name}` has to be of type {kind}, and is {_kind_of(value)}")


def _schema(kind: object, depth: int) -> Schema:
    if depth > DEEPEST:
        raise ValueError(f"`returns` is nested deeper than {DEEPEST} times")
    if isinstance(kind, str):
        if kind.endswith("[]"):
            return {"type": "array", "items": _schema(kind.removesuffix("[]"), depth + 1)}
        if kind not in _NAMES:
            raise ValueError(f"{kind[:40]!r} is no type; {AS_FIELDS}")
        return {"type": _NAMES[kind]}
    if isinstance(kind, list) and len(kind) == 1:
        return {"type": "array", "items": _schema(kind[0], depth + 1)}
    if not isinstance(kind, Mapping):
        raise ValueError(AS_FIELDS)
    if kind.get("type") not in _SCHEMAS:
        return _of_fields(kind, None, depth)
    words: Schema = {key: kind[key] for key in ("enum", "description") if key in kind}
    if kind["type"] == "array":
        return {"type": "array", "items": _schema(kind.get("items", "str"), depth + 1), **words}
    if kind["type"] == "object":
        fields, required = kind.get("properties"), kind.get("required")
        return _of_fields(fields if isinstance(fields, Mapping) else {}, required, depth) | words
    return {"type": kind["type"], **words}


def _of_fields(fields: Mapping[object, object], required: object, depth: int) -> Schema:
    """Make the schema of an object; a field is required unless it ends in `?`, or a list leaves it out."""
    if not 0 < len(fields) <= MOST_FIELDS:
        raise ValueError(f"`returns` has {len(fields)} fields, 1 to {MOST_FIELDS} are allowed")
    properties, needed = dict[str, JsonValue](), list[JsonValue]()
    for spelled, kind in fields.items():
        if not isinstance(spelled, str) or not _FIELD.fullmatch(spelled):
            raise ValueError(f"{str(spelled)[:40]!r} is no name of a field; use letters, digits and _")
        name = spelled.removesuffix("?")
        properties[name] = _schema(kind, depth + 1)
        if name == spelled and (not isinstance(required, list) or name in required):
            needed.append(name)
    return {"type": "object", "properties": properties, "required": needed}


def _object(value: dict[str, JsonValue], schema: Mapping[str, JsonValue], name: str) -> dict[str, JsonValue]:
    properties, required = schema["properties"], schema["required"]
    fields = dict[str, JsonValue]()
    for key, inner in properties.items() if isinstance(properties, dict) else ():
        path = f"{name}.{key}".lstrip(".")
        if value.get(key) is None:
            if isinstance(required, list) and key in required:
                raise ValueError(f"`{path}` is missing")
        elif isinstance(inner, dict):
            fields[key] = as_declared(value[key], inner, path)
    return fields


def _number(value: JsonValue, *, whole: bool) -> int | float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if whole and value == int(value) else None if whole else value


def _kind_of(value: JsonValue) -> str:
    names = {
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "nothing")


AnswerSchema: TypeAlias = Annotated[Schema, BeforeValidator(read_answer_schema)]
"""A JSON Schema of an answer, read from each of its forms."""
