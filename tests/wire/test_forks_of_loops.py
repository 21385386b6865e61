"""A fork of a run without a plan: what the source has done is not done again unasked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.desk import Desk
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, calls, says
from tests.wire.test_refused_runs import desk_with

pytestmark = pytest.mark.enable_socket

REQUEST = "Draft a mail to jo@example.com saying Hello"
DRAFT: dict[str, Any] = {"to": ["jo@example.com"], "subject": "Hi", "text": "Hello"}
EFFECTS = "SELECT capability, status FROM effects"


def drafted(workspace: Path, serve: Serve, *after: Reply) -> tuple[Desk, str]:
    """A run that has drafted a mail; its id."""
    desk = desk_with(workspace, serve, "never", calls("mail__draft", DRAFT), says("Drafted."), *after)
    done = desk.run("run", REQUEST)
    while done.code == 3:
        done = desk.run("approve")
    assert done.code == 0
    return desk, str(desk.rows("SELECT run_id FROM runs")[0][0])


def gate_of(desk: Desk) -> str:
    ((reason,),) = desk.rows("SELECT shown ->> 'reason' FROM gates WHERE status = 'open'")
    return str(reason)


def test_the_same_call_asks_with_the_run_that_has_done_it(workspace: Path, serve: Serve) -> None:
    desk, source = drafted(workspace, serve, calls("mail__draft", DRAFT), says("There is one already."))
    asked = desk.run("fork", source)
    assert asked.code == 3
    assert f"run {source} has done this already" in gate_of(desk)
    assert f"run {source} has done this already" in asked.stderr
    assert desk.rows(EFFECTS) == [("mail.draft", "done")]
    done = desk.run("reject")
    assert (done.code, done.stdout) == (4, "There is one already.\n")
    assert desk.rows(EFFECTS) == [("mail.draft", "done")]


def test_an_approval_has_it_done_again_under_a_new_key(workspace: Path, serve: Serve) -> None:
    desk, source = drafted(workspace, serve, calls("mail__draft", DRAFT), says("Drafted anew."))
    assert desk.run("fork", source).code == 3
    assert desk.run("approve").code == 0
    assert desk.rows("SELECT count(DISTINCT key), count(*) FROM effects WHERE status = 'done'") == [(2, 2)]


def test_a_call_of_the_same_capability_with_other_arguments_asks(workspace: Path, serve: Serve) -> None:
    other = {**DRAFT, "text": "Hello, Jo"}
    desk, source = drafted(workspace, serve, calls("mail__draft", other), says("Drafted."))
    assert desk.run("fork", source).code == 3
    assert f"run {source} has called mail.draft already" in gate_of(desk)


def test_what_may_have_happened_asks_as_well(workspace: Path, serve: Serve) -> None:
    desk, source = drafted(workspace, serve, calls("mail__draft", DRAFT), says("Drafted."))
    desk.change("UPDATE effects SET status = 'in_doubt'")
    assert desk.run("fork", source).code == 3
    assert f"run {source} may have done this already" in gate_of(desk)


def test_what_the_source_only_read_asks_nobody(workspace: Path, serve: Serve) -> None:
    replies = (calls("tickets__list", {}), says("Four."))
    desk = desk_with(workspace, serve, "never", *replies, *replies)
    assert desk.run("run", "What tickets are open?").code == 0
    ((source,),) = desk.rows("SELECT run_id FROM runs")
    done = desk.run("fork", source)
    assert (done.code, done.stdout) == (0, "Four.\n")


def test_a_fork_of_a_fork_knows_what_the_first_run_has_done(workspace: Path, serve: Serve) -> None:
    again = (calls("mail__draft", DRAFT), says("There is one already."))
    desk, source = drafted(workspace, serve, *again, *again)
    assert desk.run("fork", source).code == 3
    assert desk.run("reject").code == 4
    (fork,) = [row[0] for row in desk.rows("SELECT run_id FROM forks")]
    assert desk.run("fork", fork).code == 3
    assert f"run {source} has done this already" in gate_of(desk)


def test_no_rule_answers_for_the_person(workspace: Path, serve: Serve) -> None:
    again = (calls("mail__draft", DRAFT), says("Drafted."))
    desk, source = drafted(workspace, serve, *again, *again)
    assert desk.run("fork", source).code == 3
    assert desk.run("approve", "--remember", "always").code == 0
    (fork,) = [row[0] for row in desk.rows("SELECT run_id FROM forks")]
    assert desk.run("fork", fork).code == 3
