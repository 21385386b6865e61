"""A planner that asks what is meant: the answer reaches it with the question, in a run of the same agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from planwright.domain.errors import GateError
from planwright.graph.building import open_agent
from tests.cli.desk import Desk
from tests.wire.asking import LISTING
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, ScriptedServer, says

pytestmark = pytest.mark.enable_socket

ASKS = says(json.dumps({"clarify": ["Which tickets?", "Open or closed?"]}))
TASK = says(json.dumps({"task": "List the open tickets", "depends_on_chat_history": True}))
ANSWER = says("Four tickets.")
SETTINGS = """[planning]
mode = "always"
[planner]
attempts = 1
[agents.clerk]
tools = ["tickets.*", "memory.*"]
[providers.local]
base_url = "{address}"
model = "m"
api_key = "k-7319"
"""


def desk_with(workspace: Path, serve: Serve, *replies: Reply) -> tuple[Desk, ScriptedServer]:
    desk, server = Desk(workspace), serve(*replies)
    desk.settings(SETTINGS.format(address=server.base_url))
    return desk, server


def plan(*steps: dict[str, Any]) -> Reply:
    asking = {"id": "ask", "capability": "clarify", "params": {"questions": ["Which ones next?"]}}
    return says(json.dumps({"goal": "Look, then ask", "steps": [*steps, asking]}))


def test_the_answer_reaches_the_planner_with_its_question(workspace: Path, serve: Serve) -> None:
    desk, server = desk_with(workspace, serve, ASKS, TASK, says(LISTING), ANSWER)
    asked = desk.run("run", "List the tickets", "--agent", "clerk")
    assert (asked.code, asked.stdout) == (3, "Which tickets?\nOpen or closed?\n")
    done = desk.run("respond", "the open ones")
    assert (done.code, done.stdout) == (0, "Four tickets.\n")
    extraction = server.requests[1].sent("user")
    assert all(words in extraction for words in ("List the tickets", "Which tickets?", "the open ones"))
    contexts = [json.loads(row[0]) for row in desk.rows("SELECT context FROM runs")]
    assert [context["agent"] for context in contexts] == ["clerk", "clerk"]


def test_what_was_done_before_the_question_is_told(workspace: Path, serve: Serve) -> None:
    listing = {"id": "s1", "capability": "tickets.list", "params": {}}
    desk, _ = desk_with(workspace, serve, plan(listing))
    asked = desk.run("run", "List the tickets, then ask")
    assert asked.code == 3
    assert "Quote for two more greenhouses" in asked.stdout
    assert asked.stdout.endswith("Which ones next?\n")


def test_a_question_after_a_failure_does_not_hide_it(workspace: Path, serve: Serve) -> None:
    reading = {"id": "s1", "capability": "files.read", "params": {"path": "nope.md"}}
    desk, _ = desk_with(workspace, serve, plan(reading), plan(reading), plan(reading))
    assert desk.run("run", "Read nope.md, then ask").code == 3
    left = desk.run("reject")
    assert left.code == 1
    assert "nope.md" in left.stdout
    assert left.stdout.endswith("Which ones next?\n")


def test_a_resume_of_a_question_is_refused_and_says_how_to_answer(workspace: Path, serve: Serve) -> None:
    desk, _ = desk_with(workspace, serve, ASKS, TASK, says(LISTING), ANSWER)
    agent = open_agent(workspace)
    config: Any = {"configurable": {"thread_id": "monday"}}
    try:
        out = agent.invoke({"messages": [("user", "List the tickets")]}, config)
        assert (out["status"], out["answer"]) == ("needs_input", "Which tickets?\nOpen or closed?")
        with pytest.raises(GateError, match="a new message on its thread"):
            agent.invoke(Command(resume={"type": "respond", "message": "open"}), config)
        assert agent.invoke({"messages": [("user", "open")]}, config)["answer"] == "Four tickets."
    finally:
        agent.close()
    assert len(desk.rows("SELECT 1 FROM runs")) == 2
