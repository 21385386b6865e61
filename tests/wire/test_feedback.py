"""Feedback that no model can use changes nothing; feedback that no model could hear is not lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Waiting, ask
from tests.cli.desk import Desk, refusal
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, refuses, says
from tests.wire.test_refused_runs import REMOVE, REQUEST, desk_with, plan

pytestmark = pytest.mark.enable_socket

DOWN = refuses(503, "out of order")
NOTE = {"id": "s1", "capability": "memory.write", "params": {"text": "ticket 1 is to be deleted"}}


@pytest.fixture
def waiting(workspace: Path) -> Waiting:
    """A plan of the embedded planner at its gate."""
    return ask(workspace, "Save hello to note.md")


def test_the_embedded_planner_takes_no_feedback_and_the_gate_stays_open(
    workspace: Path, waiting: Waiting
) -> None:
    desk = Desk(workspace)
    assert "planwright respond" not in desk.run("resume", waiting.thread_id).stderr
    refused = desk.run("respond", waiting.gate_id, "write it to other.md")
    assert refused.code == 2
    assert "feedback needs a model" in refusal(refused)
    assert "approve, edit, reject" in refused.stderr
    assert desk.rows("SELECT status FROM gates") == [("open",)]
    assert desk.rows("SELECT status FROM runs") == [("waiting",)]
    assert desk.run("approve").code == 0


def down(workspace: Path, serve: Serve, *after: Reply) -> Desk:
    """A run whose model was down when a person had feedback."""
    desk = desk_with(workspace, serve, "always", plan(REMOVE), DOWN, DOWN, *after)
    assert desk.run("run", REQUEST).code == 3
    unheard = desk.run("respond", "only make a note of it")
    assert (unheard.code, unheard.stdout) == (2, "")
    assert "paused     provider" in unheard.stderr
    assert "planwright resume" in unheard.stderr
    assert desk.rows("SELECT status, reason FROM gates") == [("responded", "only make a note of it")]
    assert desk.rows("SELECT paused_for, ended_at FROM runs") == [("provider", None)]
    return desk


def test_feedback_is_heard_when_the_model_is_back(workspace: Path, serve: Serve) -> None:
    desk = down(workspace, serve, plan(NOTE), says("Noted."))
    ((thread,),) = desk.rows("SELECT thread_id FROM runs")
    asked = desk.run("resume", thread)
    assert asked.code == 3
    assert "memory.write" in asked.stderr
    done = desk.run("approve")
    assert (done.code, done.stdout) == (0, "Noted.\n")


def test_a_run_whose_feedback_nobody_heard_can_be_cancelled(workspace: Path, serve: Serve) -> None:
    desk = down(workspace, serve)
    ((thread,),) = desk.rows("SELECT thread_id FROM runs")
    assert desk.run("cancel", thread).code == 0
    assert desk.rows("SELECT status FROM runs") == [("cancelled",)]


def test_a_model_that_cannot_follow_says_so_and_the_run_ends(workspace: Path, serve: Serve) -> None:
    cannot = says(json.dumps({"cannot": "there is no other way"}))
    desk = desk_with(workspace, serve, "always", plan(REMOVE), cannot)
    assert desk.run("run", REQUEST).code == 3
    done = desk.run("respond", "do it by mail")
    assert done.code == 4
    assert "do it by mail" in done.stdout
