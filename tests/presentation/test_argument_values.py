"""Arguments as they are typed: by the types of their schema."""

from __future__ import annotations

import pytest

from planwright.presentation.argument_values import argument_types, read_argument

SCHEMA = {"$defs": {"Size": {"type": "string", "enum": ["s", "m"]}}}


@pytest.mark.parametrize(
    ("text", "property_", "value"),
    [
        ("12", {"type": "string"}, "12"),
        ("12", {"type": "integer"}, 12),
        ("1.5", {"anyOf": [{"type": "number"}, {"type": "null"}]}, 1.5),
        ("true", {"type": "boolean"}, True),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("one", {"type": "array", "items": {"type": "string"}}, "one"),
        ('["one"]', {"type": "array", "items": {"type": "string"}}, ["one"]),
        ("3", {"type": "array", "items": {"type": "integer"}}, 3),
        ("m", {"$ref": "#/$defs/Size"}, "m"),
        ("[" * 100_000, {"type": "string"}, "[" * 100_000),
    ],
)
def test_a_text_is_read_by_its_type(text: str, property_: dict[str, object], value: object) -> None:
    assert read_argument(text, property_, SCHEMA) == value


def test_what_is_of_no_type_names_the_types() -> None:
    with pytest.raises(ValueError, match=r"^integer or null$"):
        read_argument("x", {"type": ["integer", "null"]}, {})
    assert argument_types({"$ref": "#/$defs/Size"}, SCHEMA) == ["string"]
