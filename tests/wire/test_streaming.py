"""Tokens over real HTTP: where they come out, what is recorded of them, and a stream that breaks off."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.settings.settings import Settings
from tests.wire.asking import LISTING, QUESTION, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, ScriptedServer, breaks_off, calls, cut_short, refuses, says

pytestmark = pytest.mark.enable_socket

TEXT = "Four tickets are open."
BY_AGENT = {"id": "s1", "description": "look", "tool_hints": ["tickets.list"]}
CLOCK = {"id": "s2", "capability": "datetime.now", "depends_on": ["s1"]}
AGENTIC = json.dumps({"goal": "List the open tickets", "steps": [BY_AGENT, CLOCK]})
MODES = ["messages", "custom", "updates"]
Chunk = tuple[tuple[str, ...], str, Any]
How = Literal["cut", "end", "error"]
HALF = "One two three four five six seven eight nine ten"


@contextmanager
def agent_of(settings: Settings) -> Iterator[Agent]:
    agent = build_graph(settings)
    try:
        yield agent
    finally:
        agent.close()


def watch(settings: Settings, subgraphs: bool = False) -> list[Chunk]:
    """Ask, and keep everything that is streamed, with the place it comes from."""
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    message = {"messages": [("user", QUESTION)]}
    with agent_of(settings) as agent:
        chunks = list(agent.stream(message, config, stream_mode=MODES, subgraphs=subgraphs))
    return chunks if subgraphs else [((), *chunk) for chunk in chunks]


def words(chunks: list[Chunk], node: str) -> list[str]:
    """List the pieces of text that came out under the name of a node, as they came in."""
    said = [(about, piece) for _, mode, chunk in chunks if mode == "messages" for piece, about in [chunk]]
    pieces = [piece for about, piece in said if about["langgraph_node"] == node]
    return [piece.text for piece in pieces if piece.type == "AIMessageChunk" and piece.text]


def use(server: ScriptedServer, folder: Path, planning: str = "always", **more: Any) -> Settings:
    return settings_for(folder, {"local": provider(server, **more)}, planning={"mode": planning})


def test_the_answer_to_a_plan_comes_word_by_word_beside_events_and_updates(
    workspace: Path, serve: Serve
) -> None:
    chunks = watch(use(serve(says(LISTING), says(TEXT)), workspace))
    assert words(chunks, "respond") == ["Four ", "tickets ", "are ", "open."]
    assert {mode for _, mode, _ in chunks} == set(MODES)


def test_the_answer_of_a_model_with_tools_comes_out_at_the_top(workspace: Path, serve: Serve) -> None:
    server = serve(calls("tickets__list", {}, "Let me look."), says(TEXT))
    chunks = watch(use(server, workspace, "auto"))
    assert words(chunks, "agentic_loop") == ["Let ", "me ", "look.", "Four ", "tickets ", "are ", "open."]


def test_the_words_of_a_step_come_out_with_its_subgraphs_only(workspace: Path, serve: Serve) -> None:
    script = (says(AGENTIC), calls("tickets__list", {}), says("These four."), says(TEXT))
    chunks = watch(use(serve(*script), workspace), subgraphs=True)
    assert words(chunks, "llm_invoker") == ["These ", "four."]
    assert words(chunks, "respond") == ["Four ", "tickets ", "are ", "open."]
    outside = watch(use(serve(*script), workspace))
    assert words(outside, "llm_invoker") == []
    assert words(outside, "respond") == ["Four ", "tickets ", "are ", "open."]


def test_usage_is_recorded_of_streamed_calls(workspace: Path, serve: Serve) -> None:
    server = serve(says(LISTING, (700, 80)), says(TEXT, (300, 20)))
    told = [chunk for _, mode, chunk in watch(use(server, workspace)) if mode == "custom"]
    assert [request.body["stream_options"] for request in server.requests] == [{"include_usage": True}] * 2
    spent = [event["data"] for event in told if event["type"] == "budget_update"]
    assert [(usage["model_calls"], usage["tokens"]) for usage in spent] == [(2, 1100)]


def test_a_provider_that_cannot_stream_is_not_asked_to(workspace: Path, serve: Serve) -> None:
    server = serve(says(LISTING), says(TEXT))
    chunks = watch(use(server, workspace, capabilities=("function_calling",)))
    assert [bool(request.body.get("stream")) for request in server.requests] == [False, False]
    assert words(chunks, "respond") == []
    assert chunks[-1][2]["session_close"]["messages"][-1].text == TEXT


def test_every_reply_is_streamed_with_its_usage_whether_anybody_watches_or_not(
    workspace: Path, serve: Serve
) -> None:
    server = serve(says(LISTING), says(TEXT))
    ended = ask(use(server, workspace))
    assert (ended.answer, ended.record["usage"]["tokens"]) == (TEXT, 2400)
    assert [request.body["stream"] for request in server.requests] == [True, True]
    assert [request.body["stream_options"] for request in server.requests] == [{"include_usage": True}] * 2


def test_a_server_that_does_not_stream_may_answer_in_one_piece(workspace: Path, serve: Serve) -> None:
    looking, answer = calls("tickets__list", {}), says(TEXT)
    server = serve(replace(looking, streamed=False), replace(answer, streamed=False))
    ended = ask(use(server, workspace, "auto"))
    assert (ended.status, ended.answer) == ("completed", TEXT)
    assert ended.record["usage"]["tokens"] == 2400
    assert [request.body["stream"] for request in server.requests] == [True, True]


@pytest.mark.parametrize("how", ["cut", "end", "error"])
def test_half_an_answer_is_not_taken_for_one(workspace: Path, serve: Serve, how: How) -> None:
    chunks = watch(use(serve(says(LISTING), breaks_off(HALF, how)), workspace))
    assert words(chunks, "respond")[:2] == ["One ", "two "]
    answer = chunks[-1][2]["session_close"]["messages"][-1].text
    assert "One two" not in answer
    assert "could not put this into words: provider local" in answer
    assert "Quote for two more greenhouses" in answer


@pytest.mark.parametrize("how", ["cut", "end", "error"])
def test_a_model_with_tools_that_breaks_off_after_its_first_words_is_told_as_a_part(
    workspace: Path, serve: Serve, how: How
) -> None:
    server = serve(breaks_off(HALF, how), says(TEXT))
    chunks = watch(use(server, workspace, "auto"))
    assert words(chunks, "agentic_loop")[:2] == ["One ", "two "]
    answer = chunks[-1][2]["session_close"]["messages"][-1].text
    assert answer.startswith("One two")
    assert "[…]\n(This is only a part: provider local" in answer
    assert len(server.requests) == 1


def test_a_model_that_breaks_off_while_nobody_reads_is_asked_again(workspace: Path, serve: Serve) -> None:
    server = serve(cut_short(), says(TEXT))
    assert ask(use(server, workspace, "auto")).answer == TEXT
    assert len(server.requests) == 2


def test_a_stream_that_fails_before_its_first_word_is_begun_again_elsewhere(
    workspace: Path, serve: Serve
) -> None:
    bad, good = serve(refuses(503)), serve(says(TEXT))
    providers = {"a": provider(bad, priority=1), "b": provider(good, priority=2)}
    chunks = watch(settings_for(workspace, providers, planning={"mode": "auto"}))
    assert words(chunks, "agentic_loop") == ["Four ", "tickets ", "are ", "open."]
    assert chunks[-1][2]["session_close"]["messages"][-1].text == TEXT


def test_an_error_in_one_piece_says_its_reason_where_a_stream_was_asked_for(
    workspace: Path, serve: Serve
) -> None:
    error = Reply(body='{\n "error": {"message": "no such deployment",\n "code": 404}\n}')
    server = serve(error, says(TEXT))
    chunks = watch(use(server, workspace, "auto"))
    assert "no such deployment" in chunks[-1][2]["session_close"]["messages"][-1].text
    assert [request.body["stream"] for request in server.requests] == [True]


@pytest.mark.parametrize("how", ["cut", "end", "error"])
def test_half_a_plan_is_not_repaired_into_one(workspace: Path, serve: Serve, how: How) -> None:
    again = says(LISTING)
    server = serve(breaks_off(f"{LISTING} {HALF * 3}", how), again, says(TEXT))
    chunks = watch(use(server, workspace))
    repaired = [c["data"]["repaired"] for _, m, c in chunks if m == "custom" and c["type"] == "plan_created"]
    assert repaired == [False]
    assert len(server.requests) == 3
