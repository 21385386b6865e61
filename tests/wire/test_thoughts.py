"""What a model says of its thinking comes out apart from its answer, and goes nowhere else."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from tests.wire.asking import LISTING, QUESTION, provider, settings_for
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, calls, says, thinks

pytestmark = pytest.mark.enable_socket
FIELDS = ["reasoning_content", "reasoning"]
THOUGHTS, TEXT = "Let me count them.", "Four tickets are open."


def agent_of(serve: Serve, folder: Path, *replies: Reply, planning: str = "always") -> Agent:
    """Build an agent whose provider replies so."""
    local = {"local": provider(serve(*replies))}
    return build_graph(settings_for(folder, local, planning={"mode": planning}))


def streamed(agent: Agent, config: Any) -> list[Any]:
    """Ask, and list the pieces of replies that come out at the top."""
    message = {"messages": [("user", QUESTION)]}
    pieces = [piece for piece, _ in agent.stream(message, config, stream_mode="messages")]
    return [piece for piece in pieces if piece.type == "AIMessageChunk"]


@pytest.fixture
def config() -> Any:
    """The config of a new thread."""
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


@pytest.mark.parametrize("field", FIELDS)
def test_thoughts_are_streamed_apart_from_the_answer(
    workspace: Path, serve: Serve, config: Any, field: str
) -> None:
    with agent_of(serve, workspace, says(LISTING), thinks(field, THOUGHTS, TEXT)) as agent:
        first, *more = streamed(agent, config)
    whole = first
    for piece in more:
        whole += piece
    assert whole.text == TEXT
    assert whole.additional_kwargs["reasoning_content"] == THOUGHTS


@pytest.mark.parametrize("field", FIELDS)
def test_the_answer_on_the_thread_keeps_them_apart_too(
    workspace: Path, serve: Serve, config: Any, field: str
) -> None:
    with agent_of(serve, workspace, says(LISTING), thinks(field, THOUGHTS, TEXT)) as agent:
        output = agent.invoke({"messages": [("user", QUESTION)]}, config)
    assert (output["answer"], output["messages"][-1].text) == (TEXT, TEXT)
    assert [block["type"] for block in output["messages"][-1].content_blocks] == ["reasoning", "text"]


def test_thoughts_before_a_call_go_back_to_their_model_and_to_nobody_else(
    workspace: Path, serve: Serve, config: Any
) -> None:
    called = calls("tickets__list", {})
    body = json.loads(called.body)
    body["choices"][0]["message"]["reasoning_content"] = "a secret thought"
    server = serve(Reply(body=json.dumps(body), streamed=True), says(TEXT))
    settings = settings_for(workspace, {"local": provider(server)}, planning={"mode": "auto"})
    with build_graph(settings) as agent:
        streamed(agent, config)
        state = agent.get_state(config)
    first, second = (request.body["messages"] for request in server.requests)
    assert "a secret thought" not in json.dumps(first)
    told = [message for message in second if "a secret thought" in json.dumps(message)]
    assert [(message["role"], message["reasoning_content"]) for message in told] == [
        ("assistant", "a secret thought")
    ]
    assert "a secret thought" not in str(state.values)
