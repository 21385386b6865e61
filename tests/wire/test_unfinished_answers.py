"""An answer that was cut off, held back or empty completes no run: the exit code is not 0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.wire.asking import LISTING
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, calls, says
from tests.wire.test_refused_runs import desk_with

pytestmark = pytest.mark.enable_socket

UNFINISHED: dict[str, tuple[Reply, str]] = {
    "cut off": (
        says("One two", finish="length"),
        "One two […]\n(This is only a part: the reply was cut off at the token limit)\n",
    ),
    "cut off at once": (
        says("", finish="length"),
        "(This is only a part: the reply was cut off at the token limit)\n",
    ),
    "held back": (
        says("One", finish="content_filter"),
        "One […]\n(This is only a part: the provider's filter held the rest back)\n",
    ),
    "empty": (says(""), "(The model ended without a word.)\n"),
}
AGENTIC = {"id": "s1", "description": "Look at the tickets", "tool_hints": ["tickets.list"]}
REQUEST = "What tickets are open?"


@pytest.mark.parametrize("name", UNFINISHED)
def test_the_answer_of_a_model_with_tools(workspace: Path, serve: Serve, name: str) -> None:
    reply, told = UNFINISHED[name]
    desk = desk_with(workspace, serve, "never", calls("tickets__list", {}), reply)
    done = desk.run("run", REQUEST)
    assert (done.code, done.stdout) == (1, told)
    assert desk.rows("SELECT status FROM runs") == [("failed",)]


@pytest.mark.parametrize("name", UNFINISHED)
def test_the_answer_to_a_plan_falls_back_on_its_results(workspace: Path, serve: Serve, name: str) -> None:
    desk = desk_with(workspace, serve, "always", says(LISTING), UNFINISHED[name][0])
    done = desk.run("run", REQUEST)
    assert done.code == 0
    assert "Quote for two more greenhouses" in done.stdout
    assert "One" not in done.stdout


@pytest.mark.parametrize("name", UNFINISHED)
def test_the_answer_to_a_plan_without_results(workspace: Path, serve: Serve, name: str) -> None:
    reply, told = UNFINISHED[name]
    nothing = {"id": "s1", "capability": "respond", "params": {}}
    plan = says(json.dumps({"goal": "Answer", "steps": [nothing]}))
    desk = desk_with(workspace, serve, "always", plan, reply)
    done = desk.run("run", REQUEST)
    assert (done.code, done.stdout) == (1, told)


@pytest.mark.parametrize("name", UNFINISHED)
def test_a_step_of_an_agent_has_failed_and_is_planned_anew(workspace: Path, serve: Serve, name: str) -> None:
    plan = says(json.dumps({"goal": "Look", "steps": [AGENTIC]}))
    unfinished = [UNFINISHED[name][0]] * (2 if name == "cut off at once" else 1)  # it is asked for again
    replies = (plan, *unfinished, says(LISTING), says("Four tickets."))
    desk = desk_with(workspace, serve, "always", *replies)
    done = desk.run("run", REQUEST)
    assert (done.code, done.stdout) == (0, "Four tickets.\n")
    steps = desk.rows("SELECT status, result ->> 'code' FROM steps ORDER BY rowid")
    assert steps == [("failed", "model"), ("completed", None)]
