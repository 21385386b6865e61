"""`planwright checkpoints` and `planwright fork`: go back to a point of a run, on a thread of its own."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from rich.console import Console

from planwright.cli.actions.forking import checkpoints_table
from planwright.graph.forks.fork import Point
from tests.cli.conftest import Waiting
from tests.cli.desk import Desk, Outcome, refusal

pytestmark = pytest.mark.long

POINT = Point(
    "1f1e5bc5-571d-6d3a-8011-ecb04ab9ee97", "run_1", "2026-11-21T15:00:47.1+00:00", (), 1, ("s1",), 2
)


@pytest.fixture
def done(desk: Desk, waiting: Waiting) -> Waiting:
    """A run that has written note.md; the note is gone again."""
    assert desk.run("approve", waiting.gate_id).code == 0
    (desk.folder / "note.md").unlink()
    return waiting


def thread_of(outcome: Outcome) -> str:
    """Read the thread of a fork from what was printed."""
    found = re.search(r"^thread +(\S+)$", outcome.stderr, re.MULTILINE)
    assert found is not None, outcome.stderr
    return found[1]


def test_a_fork_waits_at_a_gate_of_its_own_and_does_again_what_is_named(desk: Desk, done: Waiting) -> None:
    asked = desk.run("fork", done.thread_id, "--rerun", "s1")
    assert (asked.code, asked.stdout) == (3, "")
    assert f"of {done.run_id}: keeps no result; does again what was done: s1" in asked.stderr
    assert not (desk.folder / "note.md").exists()
    thread = thread_of(asked)
    assert desk.run("approve", thread).code == 0
    assert (desk.folder / "note.md").read_text("utf-8") == "hello"
    assert desk.rows("SELECT count(DISTINCT key), count(*) FROM effects WHERE status = 'done'") == [(2, 2)]


def test_a_fork_without_a_step_named_does_nothing_again(desk: Desk, done: Waiting) -> None:
    asked = desk.run("fork", done.run_id)
    assert f"s1: by {done.run_id}, not run again" in asked.stderr
    thread = thread_of(asked)
    assert desk.run("approve", thread).code == 0
    assert not (desk.folder / "note.md").exists()
    shown = desk.run("show", thread).stdout
    assert f"of {done.run_id}" in shown
    assert f"(done by {done.run_id})" in shown


def test_a_fork_in_json_is_the_report_of_its_run(desk: Desk, done: Waiting) -> None:
    asked = desk.run("fork", done.thread_id, "--json")
    assert (asked.code, asked.stderr) == (3, "")
    assert (asked.json["status"], asked.json["forked_from"]) == ("waiting", done.run_id)
    assert asked.json["thread_id"] != done.thread_id


def test_a_checkpoint_that_is_listed_is_a_place_to_fork_from(desk: Desk, done: Waiting) -> None:
    listed = desk.run("checkpoints", done.thread_id, "--json")
    points = {point["next"][0]: point for point in listed.json if point["next"]}
    assert (points["score"]["kept"], points["plan_approval"]["kept"]) == (["s1"], [])
    asked = desk.run("fork", done.thread_id, "--checkpoint", points["plan_approval"]["checkpoint_id"])
    assert "does again what was done: s1" in asked.stderr


def test_checkpoints_are_listed_for_people(desk: Desk, done: Waiting) -> None:
    lines = desk.run("checkpoints", done.thread_id).stdout.splitlines()
    assert lines[0].split() == ["checkpoint", "when", "(UTC)", "next", "plan", "a", "fork", "keeps"]
    assert re.match(
        r"[0-9a-f-]{36}  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  the end +revision 1 +s1 \(1 of 1\)", lines[1]
    )
    assert any(re.search(r" planner +nothing: the request begins anew", line) for line in lines)


def test_a_narrow_terminal_still_shows_checkpoints_that_can_be_used() -> None:
    screen = Console(width=80, record=True)
    screen.print(checkpoints_table([POINT, replace(POINT, run_id="run_0", next=("direct_step", "lane"))]))
    text = screen.export_text()
    assert text.count(POINT.checkpoint_id) == 2
    assert text.index("run_1") < text.index("run_0")


@pytest.mark.parametrize(
    ("more", "says", "next_"),
    [
        (["--rerun", "s9"], "no step s9", "its steps: s1"),
        (["--checkpoint", "nope"], "no checkpoint nope", "planwright checkpoints"),
    ],
)
def test_what_cannot_be_forked_is_refused(
    more: list[str], says: str, next_: str, desk: Desk, waiting: Waiting
) -> None:
    outcome = desk.run("fork", waiting.thread_id, *more)
    said = refusal(outcome)
    assert (outcome.code, says in said, next_ in said) == (2, True, True)
    assert desk.rows("SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.parametrize("command", ["fork", "checkpoints"])
def test_a_thread_that_is_not_there_makes_no_store(command: str, desk: Desk) -> None:
    assert "there are no runs" in refusal(desk.run(command, "nowhere"))
    assert not (desk.folder / ".planwright").exists()


def test_a_run_goes_on_with_a_thread_and_knows_what_was_said(desk: Desk) -> None:
    first = desk.run("run", "What time is it?", "--json").json
    second = desk.run("run", "What tickets are open?", "--continue", first["run_id"], "--json").json
    assert second["thread_id"] == first["thread_id"]
    assert second["run_id"] != first["run_id"]
    asked = desk.rows(f"SELECT data FROM journal WHERE run_id = '{second['run_id']}' AND type = 'llm_call'")
    assert "task_extraction" in str(asked)  # only a conversation has its task extracted by the model


@pytest.mark.parametrize("option", ["--continue", "--thread"])
def test_a_run_cannot_go_on_with_an_unknown_thread(option: str, desk: Desk, waiting: Waiting) -> None:
    said = refusal(desk.run("run", "What time is it?", option, "nowhere"))
    assert "there is no thread or run nowhere" in said
    assert desk.rows("SELECT count(*) FROM runs") == [(1,)]
