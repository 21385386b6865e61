"""Arguments by JSON schema: strict, with a place for each mistake, and without a look outside."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from pydantic import JsonValue, ValidationError

from planwright.capabilities.tools.schema_arguments import arguments_by
from planwright.domain.errors import SetupError

ZONE = {"type": "object", "properties": {"zone": {"type": "string"}, "n": {"type": "integer"}}}
NEEDS = {**ZONE, "required": ["zone"]}
DRAFT_7 = {**NEEDS, "$schema": "http://json-schema.org/draft-07/schema#"}
BRANCHES = {
    "type": "object",
    "oneOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "string"}}, "required": ["b"]},
    ],
}
NESTED = {
    "type": "object",
    "properties": {"at": {"$ref": "#/$defs/Place"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "$defs": {"Place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
}

FITS: list[tuple[dict[str, Any], dict[str, JsonValue]]] = [
    (ZONE, {}),
    (NEEDS, {"zone": "UTC", "n": 3}),
    (DRAFT_7, {"zone": "UTC"}),
    (BRANCHES, {"b": "x"}),
    (NESTED, {"at": {"x": 1.5}, "tags": ["a", "{b}"]}),
    ({"type": "object"}, {}),
    ({"type": "object", "additionalProperties": True}, {"any": [1, None, {"x": True}]}),
    ({"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False}, {"x1": 1}),
    ({}, {}),
    ({**ZONE, "properties": {"model_config": {}, "_hidden": {}, "self": {}}}, {"_hidden": 1, "self": 2}),
]


@pytest.mark.parametrize(("schema", "args"), FITS, ids=lambda value: json.dumps(value)[:60])
def test_what_fits_stays_as_it_is(schema: dict[str, Any], args: dict[str, JsonValue]) -> None:
    model = arguments_by("a.b", schema)
    assert model.model_validate(args).model_dump(mode="json") == args
    assert dict(model.model_validate(args)) == args
    assert model.model_json_schema() == schema


MISFITS: list[tuple[dict[str, Any], Any, str, tuple[str | int, ...]]] = [
    (NEEDS, {}, "missing", ()),
    (NEEDS, {"zone": 3}, "json_schema", ("zone",)),
    (NEEDS, {"zone": "UTC", "n": "3"}, "json_schema", ("n",)),
    (NEEDS, {"zone": "UTC", "n": True}, "json_schema", ("n",)),
    (NEEDS, {"zone": "UTC", "dry_run": True}, "extra_forbidden", ()),
    (DRAFT_7, {"zone": "UTC", "dry_run": True}, "extra_forbidden", ()),
    ({"type": "object"}, {"x": 1}, "extra_forbidden", ()),
    (BRANCHES, {"a": "x", "c": "y"}, "extra_forbidden", ()),
    (BRANCHES, {}, "json_schema", ()),
    (NESTED, {"at": {}}, "missing", ("at",)),
    (NESTED, {"tags": ["a", 3]}, "json_schema", ("tags", 1)),
    ({"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}}, {"x": 1}, "missing", ()),
    ({"$ref": "#"}, {"x": 1}, "missing", ()),
    (NEEDS, [], "json_schema", ()),
]


@pytest.mark.parametrize(("schema", "args", "kind", "place"), MISFITS, ids=lambda value: str(value)[:60])
def test_what_does_not_fit_is_refused_at_its_place(
    schema: dict[str, Any], args: Any, kind: str, place: tuple[str | int, ...]
) -> None:
    with pytest.raises(ValidationError) as refused:
        arguments_by("a.b", schema).model_validate(args)
    assert (kind, place) in [(error["type"], error["loc"]) for error in refused.value.errors()]


def test_braces_in_a_value_are_told_as_they_are() -> None:
    with pytest.raises(ValidationError, match=r"'\{x\} \{\{y\}\}' is not of type 'integer'"):
        arguments_by("a.b", ZONE).model_validate({"n": "{x} {{y}}"})


@pytest.mark.parametrize(
    "schema", [{"type": "nonsense"}, {"type": "string"}, {"properties": 3}, {"type": "object", "required": 1}]
)
def test_what_is_no_schema_of_an_object_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match=r"a\.b takes"):
        arguments_by("a.b", schema)


@pytest.mark.enable_socket
def test_nothing_is_fetched_for_a_schema() -> None:
    asked: list[str] = []

    class Catcher(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    with HTTPServer(("127.0.0.1", 0), Catcher) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            outside = f"http://127.0.0.1:{server.server_port}/schema.json"
            for schema in ({"properties": {"x": {"$ref": outside}}}, {"$ref": outside}, {"$schema": outside}):
                with pytest.raises(ValidationError):
                    arguments_by("a.b", schema).model_validate({"x": 1})
        finally:
            server.shutdown()
            thread.join()
    assert asked == []
