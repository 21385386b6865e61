"""What a step declares to return: read in both spellings, and held against what a model says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from planwright.domain.declared_returns import as_declared, read_answer_schema, read_returns

BRIEF: dict[str, Any] = {
    "report": "str",
    "points": "str[]",
    "sum?": "float",
    "parties": [{"name": "str", "seats": "int"}],
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "report": {"type": "string"},
        "points": {"type": "array", "items": {"type": "string"}},
        "sum": {"type": "number"},
        "parties": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "seats": {"type": "integer"}},
                "required": ["name", "seats"],
            },
        },
    },
    "required": ["report", "points", "parties"],
}
WHOLE: dict[str, Any] = {"report": "r", "points": ["a"], "sum": 1.5, "parties": [{"name": "A", "seats": 3}]}


def test_a_brief_spelling_is_read_as_a_schema() -> None:
    assert read_returns(BRIEF) == SCHEMA
    assert read_returns(SCHEMA) == SCHEMA
    Draft202012Validator.check_schema(SCHEMA)


def test_words_of_a_schema_that_tell_a_model_something_stay() -> None:
    kind: dict[str, Any] = {"type": "string", "enum": ["low", "high"], "description": "how bad it is"}
    read = read_returns({"type": "object", "properties": {"kind": kind}})
    assert read == {"type": "object", "properties": {"kind": kind}, "required": ["kind"]}


@pytest.mark.parametrize("nothing", [None, {}])
def test_nothing_declares_nothing(nothing: object) -> None:
    assert read_returns(nothing) is None


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("str", "fields by name"),
        ({"a": "strings"}, "'strings' is no type"),
        ({"a b": "str"}, "no name of a field"),
        ({"a": 3}, "fields by name"),
        ({"a": {"b": {"c": {"d": {"e": "str"}}}}}, "nested deeper"),
        ({f"f{n}": "str" for n in range(31)}, "31 fields"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_form(value: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_returns(value)


def test_what_fits_is_taken_and_the_rest_is_left() -> None:
    assert as_declared({**WHOLE, "more": 1}, SCHEMA) == WHOLE
    assert Draft202012Validator(SCHEMA).is_valid(as_declared({**WHOLE, "sum": "1.5"}, SCHEMA))
    assert as_declared({**WHOLE, "sum": None}, SCHEMA) == {k: v for k, v in WHOLE.items() if k != "sum"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"report": None}, "`report` is missing"),
        ({"points": "a"}, "`points` has to be of type array, and is a text"),
        ({"points": [1]}, r"`points.0` has to be of type string"),
        ({"sum": "much"}, "`sum` has to be of type number"),
        ({"sum": "nan"}, "`sum` has to be of type number"),
        ({"parties": [{"name": "A", "seats": 1.5}]}, r"`parties.0.seats` has to be of type integer"),
        ({"parties": [{"name": "A", "seats": True}]}, r"`parties.0.seats` has to be of type integer"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        as_declared({**WHOLE, **change}, SCHEMA)


def test_one_of_several_words_is_that_or_wrong() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"k": {"type": "string", "enum": ["a"]}},
        "required": ["k"],
    }
    assert as_declared({"k": "a"}, schema) == {"k": "a"}
    with pytest.raises(ValueError, match="one of a"):
        as_declared({"k": "b"}, schema)


class Bill(BaseModel):
    """A form of pydantic."""

    total: float
    note: str | None = None


@pytest.mark.parametrize(
    ("form", "schema"),
    [
        (None, None),
        (Bill, Bill.model_json_schema()),
        (Bill.model_json_schema(), Bill.model_json_schema()),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}, None),
        (BRIEF, SCHEMA),
    ],
)
def test_an_answer_has_a_form_of_any_kind(form: Any, schema: Any) -> None:
    assert read_answer_schema(form) == (schema or form)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("total", "a class of pydantic, a JSON Schema of an object, or fields"),
        ({}, "a class of pydantic"),
        (int, "a class of pydantic"),
        ({"total": "money"}, "is no type"),
        ({"type": "object", "properties": {"a": {"type": "sum"}}}, "it is no JSON Schema: 'sum'"),
        ({"type": "array", "$defs": {}}, "an answer is an object, and the schema is one of 'array'"),
        ({"type": "object", "description": "x" * 60_000}, "longer than 50,000 characters"),
        ({"properties": {"a": {"$ref": "#/nowhere"}}}, "its $ref '#/nowhere' leads nowhere within it"),
        ({"$ref": "https://a.example/s.json"}, "leads nowhere within it"),
        ({"type": "object", "title": object()}, "it holds what is no JSON"),
    ],
)
def test_what_is_no_form_of_an_answer_is_refused(wrong: Any, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        read_answer_schema(wrong)
