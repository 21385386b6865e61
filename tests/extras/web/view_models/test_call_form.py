"""The form of a call: fields by the schema, and arguments by the fields."""

from __future__ import annotations

import pytest

from planwright.domain.errors import SetupError
from planwright.extras.web.view_models.call_form import argument_fields, call_arguments

SCHEMA = {
    "properties": {
        "title": {"type": "string", "description": "What it is called"},
        "count": {"type": "integer", "default": 3},
        "to": {"type": "array", "items": {"type": "string"}},
        "urgent": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": None},
        "size": {"$ref": "#/$defs/Size"},
    },
    "required": ["title"],
    "$defs": {"Size": {"enum": ["s", "m"], "type": "string"}},
}


def test_each_argument_has_the_field_of_its_type() -> None:
    title, count, to, urgent, size = argument_fields(SCHEMA, {"arg-title": ["typed"]})
    assert (title.kind, title.required, title.value, title.description) == (
        "string",
        True,
        "typed",
        "What it is called",
    )
    assert (count.kind, count.required, count.default) == ("integer", False, "3")
    assert (to.kind, to.long) == ("array", True)
    assert (list(urgent.choices), urgent.default) == (["true", "false"], "null")
    assert list(size.choices) == ["s", "m"]


def test_what_is_left_empty_is_left_out_and_lines_are_items() -> None:
    form = {
        "arg-title": ["5"],
        "arg-count": [""],
        "arg-to": ["a\r\nb"],
        "arg-urgent": ["true"],
        "other": ["x"],
    }
    assert call_arguments(SCHEMA, form) == {"title": "5", "to": ["a", "b"], "urgent": True}
    assert call_arguments(SCHEMA, {"arg-to": ['["a"]'], "arg-title": ["a", "b"]}) == {"to": ["a"]}


def test_a_value_of_a_wrong_type_is_refused_with_its_name() -> None:
    with pytest.raises(SetupError, match="count is integer, and not 'many'"):
        call_arguments(SCHEMA, {"arg-count": ["many"]})
