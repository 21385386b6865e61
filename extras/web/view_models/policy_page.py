"""What a person types into the tester of the policy. Pure."""

from __future__ import annotations

import json

from pydantic import JsonValue, TypeAdapter

from planwright.domain.errors import SetupError

_OBJECT = TypeAdapter(dict[str, JsonValue])


def read_arguments(text: str) -> dict[str, JsonValue] | None:
    """Read the arguments of a call from JSON; None for an empty text. Raises SetupError for no object."""
    if not text.strip():
        return None
    try:
        return _OBJECT.validate_python(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise SetupError("the arguments are no JSON object", 'write them like {"path": "a.md"}') from error
