"""aimock from npm as the only provider, as its users have it: plans, gates, streamed calls, effects."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from benchmarks.aimock_server import Aimock, Fixture, aimock
from planwright.graph.building import build_graph
from tests.cli.desk import Desk
from tests.wire.asking import ask, settings_for

pytestmark = pytest.mark.enable_socket

Start = Callable[..., Aimock]
PLAN = {
    "goal": "Open a ticket",
    "steps": [{"id": "s1", "capability": "tickets.create", "params": {"title": "Mend the gate"}}],
}
CREATE = {"name": "tickets__create", "arguments": {"title": "Mend the gate"}}
WORDS = "The ticket is open."


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start a server with the given fixtures, out of reach of any proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ExitStack() as running:

        def start(*fixtures: Fixture, name: str = "aimock", key: str = "") -> Aimock:
            return running.enter_context(aimock(fixtures, tmp_path, name=name, key=key))

        yield start


def says(response: dict[str, Any], **match: Any) -> Fixture:
    return {"match": match, "response": response, "chunkSize": 3, "latency": 1}


OPENED = (
    says({"content": "Let me see. ", "toolCalls": [CREATE]}, hasToolResult=False),
    says({"content": WORDS}, hasToolResult=True),
)


def provider(server: Aimock, *keys: str, priority: int = 1) -> dict[str, Any]:
    return {"base_url": server.base_url, "model": "m", "api_keys": keys or ("k",), "priority": priority}


def watch(workspace: Path, *providers: dict[str, Any]) -> tuple[list[str], str]:
    """Ask for a ticket with somebody reading along; return the words as they came, and the answer."""
    named = {f"p{place}": found for place, found in enumerate(providers)}
    agent = build_graph(settings_for(workspace, named, planning={"mode": "never"}, approval={"risk": "High"}))
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    try:
        asked = {"messages": [("user", "Please open a ticket")]}
        chunks = list(agent.stream(asked, config, stream_mode=["messages", "values"]))
    finally:
        agent.close()
    said = [chunk[0] for mode, chunk in chunks if mode == "messages"]
    return [piece.text for piece in said if piece.type == "AIMessageChunk" and piece.text], chunks[-1][1][
        "answer"
    ]


def tickets(workspace: Path) -> int:
    """Count the tickets that the fixtures ask for."""
    found = Desk(workspace).rows("SELECT count(*) FROM tickets WHERE title LIKE 'Mend%'", "tickets.db")
    return int(found[0][0])


def test_a_plan_is_approved_and_carried_out_with_nothing_but_two_variables(
    workspace: Path, start: Start
) -> None:
    server = start(
        says({"content": json.dumps(PLAN)}, responseFormat="json_schema"),  # of a model that is known
        says({"content": WORDS}),
    )
    env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "mock", "OPENAI_MODEL": "gpt-5-mini"}
    desk = Desk(workspace)
    asked = desk.run("run", "Open a ticket for the gate", "--planning", "always", env=env)
    assert (asked.code, tickets(workspace)) == (3, 0)
    (gate,) = desk.rows("SELECT gate_id FROM gates")
    done = desk.run("approve", gate[0], env=env)
    assert (done.code, done.stdout, tickets(workspace)) == (0, f"{WORDS}\n", 1)
    assert "langchain" not in asked.stderr + done.stderr
    assert [one.status for one in server.journal()] == [200, 200]


def test_a_call_that_is_streamed_in_pieces_is_made_once(workspace: Path, start: Start) -> None:
    server = start(*OPENED)
    words, answer = watch(workspace, provider(server))
    assert "".join(words) == f"Let me see. {WORDS}"
    assert len(words) > 8
    assert answer == WORDS
    assert tickets(workspace) == 1
    assert [one.body["stream"] for one in server.journal()] == [True, True]


def test_a_call_that_was_cut_off_at_the_token_limit_is_not_made(workspace: Path, start: Start) -> None:
    cut = {"name": "tickets__create", "arguments": '{"title": "Mend the ga'}
    server = start(
        says({"toolCalls": [cut], "finishReason": "length"}, hasToolResult=False),
        says({"content": "It was too long."}, hasToolResult=True),
    )
    assert watch(workspace, provider(server))[1] == "It was too long."
    assert tickets(workspace) == 0
    first, again, after = (one.body for one in server.journal())
    assert again["max_completion_tokens"] > first["max_completion_tokens"]
    assert again["messages"] == first["messages"]
    told = after["messages"][-1]
    assert told["role"] == "tool"
    assert "cut off" in told["content"]


def test_a_fixture_that_is_missing_is_told_and_not_made_up(workspace: Path, start: Start) -> None:
    server = start(says({"content": WORDS}, userMessage="something else"))
    assert "No fixture matched" in watch(workspace, provider(server))[1]
    assert tickets(workspace) == 0


UNFINISHED = {
    "nothing": ({"content": ""}, "(The model ended without a word.)"),
    "thoughts only": (
        {"content": "", "reasoning": "Hm."},
        "(The provider sent all of this as thoughts, and no answer.",
    ),
    "cut off": ({"content": "First, then", "finishReason": "length"}, "cut off at the token limit"),
    "held back": ({"content": "First", "finishReason": "content_filter"}, "filter held the rest back"),
}


@pytest.mark.parametrize("name", UNFINISHED)
def test_an_answer_that_is_no_whole_one_is_not_shown_as_one(workspace: Path, start: Start, name: str) -> None:
    response, told = UNFINISHED[name]
    answer = watch(workspace, provider(start(says(response))))[1]
    assert answer.startswith(response["content"])
    assert told in answer


RESPONSES = {
    "nothing": ({"content": " "}, "greenhouse"),
    "cut off": (
        {"content": "Four", "finishReason": "length"},
        "greenhouse",
    ),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_results_are_not_told_in_half(workspace: Path, start: Start, name: str) -> None:
    response, told = RESPONSES[name]
    listing = {"goal": "List them", "steps": [{"id": "s1", "capability": "tickets.list", "params": {}}]}
    planner = {"toolCalls": [{"name": "planner", "arguments": listing}]}
    server = start(says(planner, toolName="planner"), says(response))
    ended = ask(settings_for(workspace, {"local": provider(server)}))
    assert ended.status == "completed"
    assert told in ended.answer


def test_an_error_that_passes_is_met_by_asking_again(workspace: Path, start: Start) -> None:
    first, second = start(*OPENED), start(*OPENED, name="second")
    first.ask("POST", "error", {"status": 503, "body": {"message": "one moment"}})
    assert watch(workspace, provider(first), provider(second, priority=2))[1] == WORDS
    assert [one.status for one in first.journal()] == [503, 200, 200]
    assert second.journal() == []
    assert tickets(workspace) == 1


def test_a_key_that_is_not_taken_makes_way_for_the_next(workspace: Path, start: Start) -> None:
    server = start(*OPENED, key="new-key")
    assert watch(workspace, provider(server, "old-key", "new-key"))[1] == WORDS
    assert [one.status for one in server.journal() if one.status != 401] == [200, 200]
    assert tickets(workspace) == 1


def test_a_call_is_made_once_though_its_provider_breaks_down_before_the_answer(
    workspace: Path, start: Start
) -> None:
    opens, _ = OPENED
    broken = {**says({"content": WORDS}, hasToolResult=True), "chaos": {"disconnectRate": 1}}
    first, second = start(opens, broken), start(*OPENED, name="second")
    assert watch(workspace, provider(first), provider(second, priority=2))[1] == WORDS
    assert [one.status for one in second.journal()] == [200]
    assert tickets(workspace) == 1
