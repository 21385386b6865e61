"""Several providers and keys over real HTTP: who serves when one fails, and what is on record of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planwright.domain.run_context import RunContext
from tests.wire.asking import LISTING, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import ScriptedServer, refuses, resets, says

pytestmark = pytest.mark.enable_socket

SCRIPT = (says(LISTING), says("Four tickets."))
OVERLOADED = refuses(529, "overloaded")


def two(first: ScriptedServer, second: ScriptedServer, **more: Any) -> dict[str, dict[str, Any]]:
    return {"a": provider(first, priority=1, **more), "b": provider(second, priority=2)}


def test_the_next_provider_serves_when_the_first_is_down(workspace: Path, serve: Serve) -> None:
    down, up = serve(OVERLOADED), serve(*SCRIPT)
    ended = ask(settings_for(workspace, two(down, up), failover={"retries": 1}))
    assert (ended.status, ended.answer) == ("completed", "Four tickets.")
    moves = [(told["provider"], told["failure"], told["move"], told["next"]) for told in ended.of("failover")]
    assert moves[:2] == [
        ("a", "ModelUnavailable", "wait", ""),
        ("a", "ModelUnavailable", "next_provider", "b/my-model"),
    ]
    assert [call["provider"] for call in ended.of("llm_call")][-1] == "b"


def test_a_limited_key_makes_way_for_the_next(workspace: Path, serve: Serve) -> None:
    server = serve(refuses(429, "slow down"), *SCRIPT)
    keys = provider(server, api_key=None, api_keys=["k-one", "k-two"])
    ended = ask(settings_for(workspace, {"local": keys}))
    assert ended.status == "completed"
    assert [request.key for request in server.requests] == ["k-one", "k-two", "k-two"]
    assert [told["move"] for told in ended.of("failover")] == ["next_key"]
    assert "k-one" not in str(ended.events)
    assert ended.record["failovers"] == ended.of("failover")


def test_a_refused_key_makes_way_for_the_next_provider(workspace: Path, serve: Serve) -> None:
    refused, up = serve(refuses(401)), serve(*SCRIPT)
    assert ask(settings_for(workspace, two(refused, up))).status == "completed"
    assert (len(refused.requests), len(up.requests)) == (1, 2)


def test_a_refused_request_is_sent_nowhere_else(workspace: Path, serve: Serve) -> None:
    refused, other = serve(refuses(422, "no")), serve(*SCRIPT)
    ended = ask(settings_for(workspace, two(refused, other)))
    assert ended.status == "failed"
    assert "HTTP 422" in ended.answer
    assert (len(refused.requests), other.requests) == (1, [])


def test_a_provider_that_was_chosen_is_not_replaced(workspace: Path, serve: Serve) -> None:
    down, other = serve(resets()), serve(*SCRIPT)
    settings = settings_for(workspace, two(down, other), failover={"retries": 1})
    ended = ask(settings, context=RunContext(provider="a"))
    assert ended.status == "paused"
    assert (len(down.requests), other.requests) == (2, [])


def test_when_every_provider_fails_the_answer_names_them(workspace: Path, serve: Serve) -> None:
    ended = ask(settings_for(workspace, two(serve(OVERLOADED), serve(resets())), failover={"retries": 0}))
    assert ended.status == "paused"
    assert "provider a answered HTTP 529" in ended.answer
    assert "provider b is unreachable" in ended.answer
