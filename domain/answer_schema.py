"""The form of a typed answer: a class of pydantic, a JSON Schema of an object, or fields by name and type.

It is kept with the run as a JSON Schema (https://json-schema.org/draft/2020-12), all of which counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, JsonValue, TypeAdapter, ValidationError

from planwright.domain.declared_returns import Schema, read_returns
from planwright.domain.hashing import canonical_json

LONGEST = 50_000  # characters: it stands in a prompt
_WHOLE = frozenset(("$schema", "$defs", "$ref", "properties", "anyOf", "oneOf", "allOf"))
_JSON: TypeAdapter[Schema] = TypeAdapter(dict[str, JsonValue])


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
    if schema.get("type", "object") != "object":
        raise ValueError(f"an answer is an object, and the schema is one of {schema['type']!r}")


AnswerSchema: TypeAlias = Annotated[dict[str, Any], BeforeValidator(read_answer_schema)]
"""A JSON Schema of an answer, read from each of its forms."""
