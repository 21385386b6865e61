"""`planwright undo`: what a run has done is taken back, as far as that is declared and a person approves."""

from __future__ import annotations

import pytest

from tests.cli.desk import Desk

REQUEST = "Remember that the office closes at six, then read the file nope.md"
MEMORIES = "SELECT text FROM memories"


@pytest.fixture
def half_done(desk: Desk) -> str:
    """A run that has remembered something and then failed; its id."""
    assert desk.run("run", REQUEST).code == 3
    assert desk.run("approve").code == 3  # what failed is put before a person, as something was done
    outcome = desk.run("reject")
    assert outcome.code == 1
    ((run_id,),) = desk.rows("SELECT run_id FROM runs")
    assert f"1 of its effects: planwright undo {run_id}" in outcome.stderr
    return str(run_id)


def test_a_run_that_failed_is_undone_once_and_by_what_was_approved(desk: Desk, half_done: str) -> None:
    asked = desk.run("undo", half_done)
    assert asked.code == 3
    assert f"Undo 1 of 1 effects of {half_done}" in asked.stderr
    assert "memory.forget" in asked.stderr
    assert desk.rows(MEMORIES) == [("the office closes at six",)]
    assert desk.run("approve").code == 0
    assert desk.rows(MEMORIES) == []
    shown = desk.run("show", half_done)
    assert ": completed" in shown.stdout.split("undo ")[1]
    again = desk.run("undo", half_done)
    assert (again.code, again.stdout) == (2, "")
    assert "it was undone by run_" in again.stderr


def test_what_would_be_undone_can_be_looked_at(desk: Desk, half_done: str) -> None:
    ((id_,),) = desk.rows("SELECT id FROM memories")
    (found,) = desk.run("undo", half_done, "--look", "--json").json
    assert (found["step"], found["capability"], found["status"]) == ("s1", "memory.write", "done")
    assert found["compensation"] == {"capability": "memory.forget", "params": {"id": id_}}
    assert "memory.forget" in desk.run("undo", half_done, "--look").stdout
    assert desk.rows("SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.parametrize("name", ["run_nobody", "nowhere"])
def test_what_is_not_there_cannot_be_undone(desk: Desk, half_done: str, name: str) -> None:
    outcome = desk.run("undo", name)
    assert (outcome.code, outcome.stdout) == (2, "")
    assert f"there is no thread or run {name}" in outcome.stderr
