"""A request that cannot be understood ends with a question, exit code 3, and the next message answers it."""

from __future__ import annotations

import re

import pytest

from tests.cli.conftest import Waiting
from tests.cli.desk import Desk, Outcome, refusal

pytestmark = pytest.mark.long

UNCLEAR = "Draft a mail to Jo saying hello there my friend"
CLEAR = "Draft a mail to jo@example.com saying hello there my friend"


@pytest.fixture
def question(desk: Desk) -> Outcome:
    """A run that has ended with a question."""
    return desk.run("run", UNCLEAR)


def thread_of(desk: Desk) -> str:
    return str(desk.rows("SELECT thread_id FROM runs WHERE status = 'needs_input'")[0][0])


def test_a_question_is_printed_with_the_command_that_answers_it(desk: Desk, question: Outcome) -> None:
    assert question.code == 3
    assert "?" in question.stdout
    assert "answer with the whole request" in question.stdout
    assert f"planwright respond {thread_of(desk)}" in question.stderr
    assert desk.rows("SELECT status FROM runs") == [("needs_input",)]
    assert desk.rows("SELECT count(*) FROM gates") == [(0,)]


def test_a_plan_that_is_a_question_is_asked_too(desk: Desk) -> None:
    planned = desk.run("plan", UNCLEAR)
    assert planned.code == 3
    assert "?" in planned.stdout
    assert "This is the plan" not in planned.stdout


def test_the_answer_begins_the_next_run_of_its_thread(desk: Desk, question: Outcome) -> None:
    thread = thread_of(desk)
    waits = desk.run("respond", thread, CLEAR)
    assert waits.code in (0, 3)  # a draft may need approval
    assert desk.rows("SELECT thread_id, request FROM runs ORDER BY rowid") == [
        (thread, UNCLEAR),
        (thread, CLEAR),
    ]
    while waits.code == 3:
        waits = desk.run("approve")
    assert waits.code == 0
    assert len(list((desk.folder / "mail" / ".Drafts" / "cur").iterdir())) == 1


def test_the_only_question_needs_no_name(desk: Desk, question: Outcome) -> None:
    assert desk.run("respond", "What time is it?").code == 0
    assert desk.run("ls", "--waiting").stdout == "no runs wait for a decision\n"


def test_a_question_is_listed_and_shown_until_it_is_answered(desk: Desk, question: Outcome) -> None:
    thread = thread_of(desk)
    listed = desk.run("ls", "--waiting").stdout
    assert re.search(rf"^{thread} +question ", listed, re.MULTILINE)
    (row,) = desk.run("ls", "--waiting", "--json").json["runs"]
    assert (row["thread_id"], row["status"]) == (thread, "needs_input")
    shown = desk.run("show", thread).stdout
    assert f"planwright respond {thread}" in shown
    assert "needs_input" in shown
    desk.run("respond", thread, "What time is it?")
    assert desk.run("ls", "--waiting", "--json").json["runs"] == []


def test_a_question_in_json_is_the_report_of_its_run(desk: Desk) -> None:
    asked = desk.run("run", UNCLEAR, "--json")
    assert (asked.code, asked.stderr) == (3, "")
    assert asked.json["status"] == "needs_input"
    assert "?" in asked.json["answer"]


def test_a_question_is_not_approved(desk: Desk, question: Outcome) -> None:
    refused = desk.run("approve", thread_of(desk))
    assert refused.code == 2
    assert f"planwright respond {thread_of(desk)}" in refusal(refused)


def test_a_response_without_a_name_is_refused_beside_an_open_gate(desk: Desk, waiting: Waiting) -> None:
    desk.run("run", UNCLEAR)
    refused = desk.run("respond", CLEAR)
    assert refused.code == 2
    assert waiting.gate_id in refusal(refused)
    assert thread_of(desk) in refused.stderr
    assert len(desk.rows("SELECT 1 FROM runs")) == 2


def test_an_old_question_holds_nothing_up_and_can_still_be_answered(desk: Desk, question: Outcome) -> None:
    desk.settings("[sessions]\ngate_ttl_s = 1\n")
    desk.change("UPDATE runs SET ended_at = '2020-01-01T00:00:00+00:00'")
    assert desk.run("ls", "--waiting", "--json").json["runs"] == []
    assert desk.run("respond", "What time is it?").code == 2
    assert desk.run("respond", thread_of(desk), "What time is it?").code == 0


@pytest.mark.parametrize("which", ["thread", "last"])
def test_a_name_alone_is_no_answer(desk: Desk, question: Outcome, which: str) -> None:
    name = thread_of(desk) if which == "thread" else which
    assert "the answer is missing" in refusal(desk.run("respond", name))
    assert desk.rows("SELECT count(*) FROM runs") == [(1,)]
