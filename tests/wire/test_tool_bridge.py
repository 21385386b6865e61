"""A model without function calling does a job with tools, over real HTTP."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planwright.graph.building import build_graph
from tests.wire.asking import QUESTION, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, Request, ScriptedServer, says

pytestmark = pytest.mark.enable_socket

LISTS = '{"name": "tickets__list", "arguments": {}}'


def nonce_of(request: Request) -> str:
    found = re.search(r'<tool_call nonce="(\w+)">', request.sent("system"))
    assert found
    return found[1]


def in_block(body: str) -> Reply:
    """Reply with a block that carries the nonce of the request it answers."""
    return replace(says(f"<tool_call nonce=NONCE>{body}</tool_call>"), fills=_fill)


def _fill(body: str, request: Request) -> str:
    return body.replace("nonce=NONCE", f'nonce=\\"{nonce_of(request)}\\"')


def wordy(server: ScriptedServer, folder: Path) -> Any:
    words_only = provider(server, capabilities=("streaming",))
    return settings_for(folder, {"local": words_only}, planning={"mode": "auto"})


def test_a_model_that_knows_no_tools_calls_them_in_words(workspace: Path, serve: Serve) -> None:
    server = serve(in_block(LISTS), says("Four tickets."))
    ended = ask(wordy(server, workspace))
    assert (ended.status, ended.answer) == ("completed", "Four tickets.")
    assert [call["capability"] for call in ended.of("tool_call_end")] == ["tickets.list"]
    assert all("tools" not in request.body for request in server.requests)
    assert "Quote for two more greenhouses" in server.requests[1].sent("user")
    assert nonce_of(server.requests[0]) != nonce_of(server.requests[1])


@pytest.mark.parametrize("body", ["{}", LISTS[:-1], f"{LISTS}{LISTS}"])
def test_a_malformed_block_is_told_to_the_model_and_never_made(
    workspace: Path, serve: Serve, body: str
) -> None:
    server = serve(in_block(body), says("I could not look."))
    ended = ask(wordy(server, workspace))
    assert ended.answer == "I could not look."
    assert [call for call in ended.of("tool_call_end") if call["status"] == "completed"] == []
    assert "the call could not be read" in server.requests[1].sent("user")


@pytest.mark.parametrize("piece", range(1, 9))
def test_a_block_may_come_in_pieces_and_none_of_it_is_shown(
    workspace: Path, serve: Serve, piece: int
) -> None:
    server = serve(replace(in_block(LISTS), piece=piece), says("Four tickets."))
    agent = build_graph(wordy(server, workspace))
    try:
        config: Any = {"configurable": {"thread_id": "t"}}
        message = {"messages": [("user", QUESTION)]}
        seen = list(agent.stream(message, config, stream_mode=["messages", "values"]))
    finally:
        agent.close()
    assert seen[-1][1]["answer"] == "Four tickets."
    assert server.requests[0].body["stream"] is True
    assert "tool_call" not in "".join(chunk[0].text for mode, chunk in seen if mode == "messages")


def test_words_are_shown_as_they_come_and_the_call_after_them_is_not(workspace: Path, serve: Serve) -> None:
    looking = replace(in_block(LISTS), piece=4)
    looking = replace(looking, body=looking.body.replace("<tool_call", "Let me look. <tool_call"))
    server = serve(looking, replace(says("<think>four</think>There are four of them."), piece=4))
    agent = build_graph(wordy(server, workspace))
    try:
        config: Any = {"configurable": {"thread_id": "t"}}
        message = {"messages": [("user", QUESTION)]}
        told = [chunk for mode, (chunk, _) in agent.stream(message, config, stream_mode=["messages"])]
    finally:
        agent.close()
    seen = [chunk.text for chunk in told if chunk.type == "AIMessageChunk" and chunk.text]
    assert len(seen) > 4
    assert "".join(seen) == "Let me look.There are four of them."
