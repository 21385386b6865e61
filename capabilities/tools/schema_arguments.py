"""Arguments whose schema is given as JSON schema: a model like any other, whose rules are the schema's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError, create_model, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from planwright.capabilities.schema_paths import JsonSchema
from planwright.domain.errors import CapabilityRejected, SetupError
from planwright.sandbox.sandbox import sandbox

if TYPE_CHECKING:
    from planwright.capabilities.tools.schema_mistakes import Mistake

LONGEST = 200  # of a message, which may quote the whole value
_BRANCHING = frozenset(("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"))
_COSTLY = re.compile(r'"(?:pattern|patternProperties|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":')
_OPEN = frozenset(("additionalProperties", "unevaluatedProperties", "patternProperties"))
# As pydantic calls them: what no reference to a later result can mend.
_KINDS = {
    "required": "missing",
    "additionalProperties": "extra_forbidden",
    "unevaluatedProperties": "extra_forbidden",
}


class SchemaArguments(BaseModel):
    """Arguments that a JSON schema describes; made by `arguments_by`."""

    model_config = ConfigDict(extra="allow")
    given_schema: ClassVar[JsonSchema] = {}
    """The schema as its server wrote it, for models; set by `arguments_by`."""
    closed_schema: ClassVar[JsonSchema] = {}
    """The schema that arguments are checked by, where none are taken but those it names; set likewise."""

    @classmethod
    def model_json_schema(cls, *_: object, **__: object) -> dict[str, Any]:
        """Return the schema as it was given."""
        return dict(cls.given_schema)

    @model_validator(mode="before")
    @classmethod
    def follow_the_schema(cls, arguments: object) -> object:
        """Check arguments. Raises ValidationError with a place and a sentence for each mistake."""
        if errors := list(_mistakes(cls.closed_schema, arguments)):
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return arguments


def arguments_by(name: str, schema: JsonSchema) -> type[SchemaArguments]:
    """Make the model of arguments that follow a JSON schema, 2020-12 unless its `$schema` names another.

    It is strict: where the schema does not say what else may be given, nothing else may. Nothing is
    fetched for it. Raises SetupError for what is no schema of an object.
    """
    from jsonschema.exceptions import SchemaError  # here, for only such arguments need it
    from jsonschema.validators import Draft202012Validator, validator_for

    draft = validator_for(schema, default=Draft202012Validator)
    try:
        draft.check_schema(dict(schema))
    except (SchemaError, RecursionError) as error:
        problem = str(error).splitlines()[0][:LONGEST]
        raise SetupError(f"{name} takes arguments of no JSON schema: {problem}", "mend it there") from error
    if schema.get("type", "object") != "object":
        raise SetupError(f"{name} takes no JSON object but {schema['type']!r}", "mend its schema there")
    model = create_model(name, __base__=SchemaArguments)
    model.given_schema = dict(schema)
    model.closed_schema = _closed(schema, draft.VALIDATORS)
    return model


def _closed(schema: JsonSchema, known: Mapping[str, object]) -> JsonSchema:
    """Refuse names that the schema does not know of, unless it says itself what is to be done with them."""
    if schema.keys() & _OPEN:
        return dict(schema)
    if not schema.keys() & _BRANCHING:
        return {**schema, "additionalProperties": False}
    return {**schema, "unevaluatedProperties": False} if "unevaluatedProperties" in known else dict(schema)


def first_mistake(schema: JsonSchema, value: object) -> str:
    """Say what is wrong with a value by its schema, and where; "" where nothing is."""
    try:
        mistakes = _by_schema(schema, value)
    except (ValueError, CapabilityRejected) as error:
        return str(error)
    return next((f"{'.'.join(map(str, place)) or 'the object'}: {text}" for _, text, place in mistakes), "")


def _by_schema(schema: JsonSchema, value: object) -> Sequence[Mistake]:
    """List the mistakes of a value, in the sandbox where finding them may take long."""
    from planwright.capabilities.tools.schema_mistakes import mistakes

    if not _COSTLY.search(json.dumps(schema)):
        return mistakes(schema, value)
    errors: Sequence[Mistake] = sandbox().run(f"{mistakes.__module__}:mistakes", schema, value)
    return errors


def _mistakes(schema: JsonSchema, arguments: object) -> Iterator[InitErrorDetails]:
    try:
        errors = _by_schema(schema, arguments)
    except (ValueError, CapabilityRejected) as error:
        yield _mistake("missing", str(error), (), arguments)
        return
    for keyword, message, place in errors:
        yield _mistake(_KINDS.get(keyword, "json_schema"), message, place, arguments)


def _mistake(kind: str, message: str, place: tuple[str | int, ...], value: object) -> InitErrorDetails:
    # The sentence goes in as a value: the template language would read braces in it.
    error = PydanticCustomError(kind, "{message}", {"message": message[:LONGEST]})
    return InitErrorDetails(type=error, loc=place, input=value)
