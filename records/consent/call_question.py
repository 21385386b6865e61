"""A question that a function asks in the middle of its call, and the answer as a gate keeps it.

A gate keeps words. What is no text is kept as JSON, and so is a text that reads as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic import JsonValue

from planwright.domain.errors import CapabilityError, GateError

QUESTION = "call_question"
"""Where the card of a gate has what a function asked: its value, and the schema of the answer."""


class CallAsks(CapabilityError):
    """The function asks a person in the middle of its call, and is called again with the answer.

    `question` is what it asks, `schema` the JSON Schema of the answer, if it brings one; `refused` says why
    it does not take the answer it was given.
    """

    code = "asked"

    def __init__(
        self, name: str, question: JsonValue, schema: dict[str, JsonValue] | None = None, refused: str = ""
    ) -> None:
        super().__init__(f"{name} asked a person, and was not answered")
        self.question, self.schema, self.refused = question, schema, refused


def words_of(answer: JsonValue) -> str:
    """Spell an answer so that `value_of` reads the same again."""
    if isinstance(answer, str) and answer.strip() and _read(answer) is None:
        return answer
    return json.dumps(answer, ensure_ascii=False)


def value_of(words: str) -> JsonValue:
    """Read an answer: JSON where it is some, else the text itself."""
    read = _read(words)
    return words if read is None else read[0]


def check_fits(card: Mapping[str, JsonValue], words: str) -> None:
    """Raise GateError where the words of an answer do not fit the schema that the function gave."""
    question = card.get(QUESTION)
    schema = question.get("schema") if isinstance(question, Mapping) else None
    if not isinstance(schema, dict):
        return
    if why := _misfit(schema, value_of(words)):
        raise GateError(f"the answer does not fit: {why}", f"it takes {json.dumps(schema)}")


def typed_words(card: Mapping[str, JsonValue], typed: str) -> str:
    """Spell what a person has typed: text, but for an object or a list, or where the schema wants no text."""
    asked_for = card.get(QUESTION)
    schema = asked_for.get("schema") if isinstance(asked_for, Mapping) else None
    if isinstance(schema, dict):
        return words_of(typed) if not _misfit(schema, typed) else typed
    return typed if typed.lstrip()[:1] in ("{", "[") else words_of(typed)


def _misfit(schema: dict[str, JsonValue], value: JsonValue) -> str:
    """Say why a value does not fit; "" where it does, and for what is no schema."""
    from jsonschema import Draft202012Validator  # here, for few questions have a schema
    from jsonschema.exceptions import SchemaError, UnknownType
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        problem = next(Draft202012Validator(schema, registry=Registry()).iter_errors(value), None)
    except (SchemaError, UnknownType, Unresolvable):
        return ""
    return "" if problem is None else problem.message[:200]


def _read(words: str) -> tuple[JsonValue] | None:
    try:
        return (json.loads(words),)
    except (ValueError, RecursionError):
        return None
