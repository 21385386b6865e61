"""A plan asked for by schema, by a tool call, by JSON mode and in words, over real HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.wire.asking import LISTING, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import calls, refuses, says

pytestmark = pytest.mark.enable_socket

NO_SCHEMA = refuses(400, "response_format json_schema is not supported by this model")
NO_TOOLS = refuses(400, "this model does not support tools")
ALL = ("json_schema", "function_calling", "json_mode")


def test_a_plan_may_come_as_the_arguments_of_a_call(workspace: Path, serve: Serve) -> None:
    server = serve(calls("planner", json.loads(LISTING)), says("Four tickets."))
    ended = ask(settings_for(workspace, {"local": provider(server)}))
    assert (ended.status, ended.answer) == ("completed", "Four tickets.")
    assert server.requests[0].body["tool_choice"]["function"]["name"] == "planner"
    assert "tools" not in server.requests[1].body


def test_each_way_that_is_refused_is_told_and_the_next_one_used(workspace: Path, serve: Serve) -> None:
    server = serve(NO_SCHEMA, NO_TOOLS, says(LISTING), says("Four tickets."))
    ended = ask(settings_for(workspace, {"local": provider(server, capabilities=ALL)}))
    assert ended.status == "completed"
    told = [(event["refused"], event["next"]) for event in ended.of("structured_output")]
    assert told == [("json_schema", "tool_call"), ("tool_call", "json_mode")]
    first, _, third, _ = (request.body for request in server.requests)
    assert first["response_format"]["type"] == "json_schema"
    assert third["response_format"] == {"type": "json_object"}


def test_a_provider_that_can_do_nothing_of_it_is_asked_in_words(workspace: Path, serve: Serve) -> None:
    server = serve(says(f"Here it is:\n```json\n{LISTING}\n```"), says("Four tickets."))
    ended = ask(settings_for(workspace, {"local": provider(server, capabilities=())}))
    assert ended.status == "completed"
    assert server.requests[0].body.keys().isdisjoint({"tools", "response_format"})
