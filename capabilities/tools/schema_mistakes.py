"""What is wrong with arguments by their JSON schema: here, or in the sandbox.

A schema comes from a server and the arguments from a model: together, a `pattern` of Python's `re` or a
`$ref` to a schema that names another twice may take exponential time.
"""

from __future__ import annotations

from typing import Any

from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from planwright.capabilities.schema_paths import JsonSchema

LONGEST = 200  # of a message, which may quote the whole value
Mistake = tuple[str, str, tuple[str | int, ...]]


def mistakes(schema: JsonSchema, arguments: Any) -> list[Mistake]:
    """List keyword, message and place of each. Raises ValueError where the schema cannot be applied."""
    # Without a registry of its own the library would fetch what a `$ref` names.
    validator = validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())
    try:
        return [
            (str(error.validator), error.message[:LONGEST], tuple(error.absolute_path))
            for error in validator.iter_errors(arguments)
        ]
    except (Unresolvable, RecursionError) as error:
        raise ValueError(f"its schema cannot be applied: {error}") from error
