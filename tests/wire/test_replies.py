"""What a planner's reply may look like: repaired, asked for again with the exact error, or given up."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from planwright.graph.building import build_graph
from tests.wire.asking import LISTING, ask, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import says

pytestmark = pytest.mark.enable_socket

ANSWER = says("Four tickets.")
PROSE = says("Let me think about that for you.")
TRAILING_COMMA = LISTING.replace("}]", "},]")
WRITES = {"id": "s2", "capability": "files.write", "params": {"path": "a.md", "text": "x"}}


@pytest.mark.parametrize(
    "reply",
    [f"Here is the plan:\n```json\n{LISTING}\n```\nGood luck!", TRAILING_COMMA],
    ids=["fenced", "trailing comma"],
)
def test_a_reply_that_can_be_repaired_is_not_asked_for_again(
    workspace: Path, serve: Serve, reply: str
) -> None:
    server = serve(says(reply), ANSWER)
    ended = ask(settings_for(workspace, {"local": provider(server)}))
    assert ended.status == "completed"
    assert len(server.requests) == 2
    assert [event["repaired"] for event in ended.of("plan_created")] == [True]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (PROSE, "the reply is not one JSON object"),
        (says(""), "the reply is not one JSON object"),
        (says('{"goal": "g"}'), "the object has no list `steps`"),
        (says(LISTING[:-2]), "breaks off"),
        (
            says('{"goal": "g", "steps": [{"capability": "tickets.list", "unless": "it rains"}]}'),
            "no field `unless`",
        ),
    ],
    ids=["prose", "nothing", "no steps", "brackets missing", "an unknown key"],
)
def test_a_reply_that_is_no_plan_is_asked_for_again_with_the_error(
    workspace: Path, serve: Serve, reply: Any, error: str
) -> None:
    server = serve(reply, says(LISTING), ANSWER)
    ended = ask(settings_for(workspace, {"local": provider(server)}))
    assert ended.status == "completed"
    first, second, _ = server.requests
    assert error not in first.sent("user")
    assert error in second.sent("user")
    assert second.sent("user").startswith(first.sent("user"))
    assert [event["error"] for event in ended.of("plan_repaired")] != []


def test_a_planner_that_never_learns_is_asked_three_times_in_all(workspace: Path, serve: Serve) -> None:
    server = serve(PROSE)
    ended = ask(settings_for(workspace, {"local": provider(server)}))
    assert ended.status == "failed"
    assert len(server.requests) == 3
    assert len(ended.of("plan_repaired")) == 2
    assert "the reply is not one JSON object" in ended.answer
    assert len(ended.answer.splitlines()) <= 6


@pytest.mark.parametrize("abilities", [("json_mode",), ("streaming",)], ids=["JSON mode", "plain"])
def test_a_plan_that_stays_cut_off_by_the_token_limit_is_asked_for_again(
    workspace: Path, serve: Serve, abilities: tuple[str, ...]
) -> None:
    plan = json.loads(LISTING)
    plan["steps"].append(WRITES)
    text = json.dumps(plan)
    cut = says(text[: text.index(', {"id": "s2"')], finish="length")
    server = serve(cut, cut, says(LISTING), ANSWER)
    ended = ask(settings_for(workspace, {"local": provider(server, capabilities=abilities)}))
    assert ended.status == "completed"
    assert len(server.requests) == 4
    first, roomy, told, _ = server.requests
    assert roomy.body["max_completion_tokens"] == 2 * first.body["max_completion_tokens"]
    assert roomy.sent("user") == first.sent("user")
    assert "cut off" in told.sent("user")


def test_an_invented_capability_goes_back_to_the_planner_with_the_nearest_names(
    workspace: Path, serve: Serve
) -> None:
    invented = LISTING.replace("tickets.list", "tickets.lst")
    server = serve(says(invented), says(LISTING), ANSWER)
    ended = ask(settings_for(workspace, {"local": provider(server)}))
    assert ended.status == "completed"
    assert "unknown_capability" in server.requests[1].sent("user")
    assert [step["capability"] for step in ended.record["steps"]] == ["tickets.list"]


def test_the_answer_can_be_streamed(workspace: Path, serve: Serve) -> None:
    server = serve(says(LISTING), says("Four tickets are open."))
    agent = build_graph(settings_for(workspace, {"local": provider(server)}))
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    message = {"messages": [("user", "What tickets are open?")]}
    pieces = [
        chunk.text
        for chunk, about in agent.stream(message, config, stream_mode="messages")
        if about["langgraph_node"] == "respond" and chunk.text and chunk.type != "tool"
    ]
    agent.close()
    assert server.requests[1].body["stream"] is True
    assert len(pieces) > 1
    assert "".join(pieces) == "Four tickets are open."
