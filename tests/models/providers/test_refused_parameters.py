"""A loopback server that refuses parameters: what it is sent instead, and for how long."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx
import pytest

from planwright.models.providers.adaptations import ADAPTATIONS
from planwright.models.providers.refused_parameters import AdaptedRequests
from tests.wire.scripted_server import ScriptedServer, refuses, says

pytestmark = pytest.mark.enable_socket
SYSTEM = {"role": "system", "content": "Be short."}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"a": {"anyOf": [{"type": "null"}, {"type": "string"}], "title": "A"}},
}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]
BODY: dict[str, Any] = {
    "model": "m",
    "messages": [
        SYSTEM,
        {"role": "developer", "content": "Now."},
        SYSTEM,
        {"role": "assistant", "content": None},
    ],
    "tools": TOOLS,
    "tool_choice": "auto",
    "temperature": 0,
    "max_completion_tokens": 9,
    "parallel_tool_calls": False,
    "stream_options": {},
}


async def post(server: ScriptedServer, *bodies: object) -> list[httpx.Response]:
    async with httpx.AsyncClient(transport=AdaptedRequests("p")) as client:
        return [await client.post(server.base_url, json=body) for body in bodies]


@pytest.mark.parametrize(
    ("message", "changed"),
    [
        (
            "Unrecognized request argument: max_completion_tokens",
            {"max_completion_tokens": None, "max_tokens": 9},
        ),
        ("stream_options: Extra inputs are not permitted", {"stream_options": None}),
        ("Unknown parameter: 'parallel_tool_calls'.", {"parallel_tool_calls": None}),
        ("'temperature' does not support 0", {"temperature": None}),
        ("tool_choice is not supported", {"tool_choice": None}),
    ],
)
async def test_a_refused_parameter_is_left_out_or_renamed(message: str, changed: dict[str, Any]) -> None:
    with ScriptedServer([refuses(400, message), says("Yes.")]) as server:
        (reply,) = await post(server, BODY)
    assert reply.status_code == 200
    after = {name: value for name, value in {**BODY, **changed}.items() if value is not None}
    assert [request.body for request in server.requests] == [BODY, after]


async def test_schemas_and_messages_are_spelled_as_the_server_takes_them() -> None:
    refusals = [
        "additionalProperties",
        "anyOf",
        "Unknown role: developer",
        "Only one system message",
        "content",
    ]
    with ScriptedServer([*(refuses(422, text) for text in refusals), says("Yes.")]) as server:
        (reply,) = await post(server, BODY)
    assert reply.status_code == 200
    body = server.requests[-1].body
    property_ = {"title": "A", "type": "string"}
    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {"a": property_}}
    assert body["messages"] == [
        {"role": "system", "content": "Be short.\n\nNow.\n\nBe short."},
        {"role": "assistant", "content": ""},
    ]


async def test_what_was_refused_once_is_remembered_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    replies = [refuses(400, "temperature"), says("Yes.")]
    with ScriptedServer(replies) as server, caplog.at_level(logging.WARNING, "planwright.models"):
        await post(server, BODY, BODY)
    assert [("temperature" in request.body) for request in server.requests] == [True, False, False]
    assert caplog.messages == ["provider p refuses temperature: it is sent none"]


async def test_what_no_change_meets_is_refused_as_it_was_and_nothing_is_remembered() -> None:
    with ScriptedServer([refuses(400, "max_tokens and max_completion_tokens must be below 5")]) as server:
        reply, again = await post(server, BODY, BODY)
    assert (reply.status_code, again.status_code) == (400, 400)
    assert reply.json()["error"]["message"].endswith("below 5")
    assert "max_completion_tokens" in server.requests[len(server.requests) // 2].body
    assert len(server.requests) <= 2 * len(ADAPTATIONS)


async def test_other_refusals_pass() -> None:
    with ScriptedServer([refuses(400, "the context is full"), refuses(500, "temperature")]) as server:
        full, down = await post(server, BODY, BODY)
    assert [full.status_code, down.status_code] == [400, 500]
    assert json.loads(full.text)["error"]["message"] == "the context is full"
    assert len(server.requests) == 2
