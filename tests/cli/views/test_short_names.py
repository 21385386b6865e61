"""Runs, threads and gates go by the beginning of their id, or by `last`; never by that of several."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Waiting
from tests.cli.desk import Desk

pytestmark = pytest.mark.long


@pytest.fixture
def waiting_desk(desk: Desk, waiting: Waiting) -> tuple[Desk, Waiting]:
    return desk, waiting


@pytest.mark.parametrize("name", ["{thread:.8}", "{run:.12}", "last"])
def test_a_run_goes_by_a_short_name(waiting_desk: tuple[Desk, Waiting], name: str) -> None:
    desk, waiting = waiting_desk
    short = name.format(thread=waiting.thread_id, run=waiting.run_id)
    shown = desk.run("show", short, "--json")
    assert shown.code == 0, shown.stderr
    assert shown.json["run_id"] == waiting.run_id


@pytest.mark.parametrize("name", ["{gate:.12}", "{thread:.8}", "last"])
def test_a_gate_goes_by_a_short_name(waiting_desk: tuple[Desk, Waiting], name: str) -> None:
    desk, waiting = waiting_desk
    assert desk.run("reject", name.format(gate=waiting.gate_id, thread=waiting.thread_id)).code == 4
    assert desk.rows("SELECT gate_id, status FROM gates") == [(waiting.gate_id, "rejected")]


@pytest.mark.parametrize("command", ["resume", "cancel", "checkpoints", "events"])
def test_commands_take_a_short_name(waiting_desk: tuple[Desk, Waiting], command: str) -> None:
    desk, waiting = waiting_desk
    ended = desk.run(command, waiting.thread_id[:8])
    assert "there is no" not in ended.stderr
    assert ended.code in (0, 3)


def test_the_beginning_of_several_is_refused_with_all_of_them(desk: Desk, waiting: Waiting) -> None:
    assert desk.run("call", "datetime.now").code == 0
    refused = desk.run("show", "run_")
    assert refused.code == 2
    assert waiting.run_id in refused.stderr
    assert "is the beginning of several" in refused.stderr


def test_an_id_that_another_begins_with_is_that_one(desk: Desk) -> None:
    for thread in ("monday", "monday-2"):
        assert desk.run("call", "datetime.now").code == 0
        newest = "SELECT run_id FROM runs ORDER BY rowid DESC LIMIT 1"
        ((run_id,),) = desk.rows(newest)
        desk.change(f"UPDATE runs SET thread_id = '{thread}' WHERE run_id = '{run_id}'")
    assert json.loads(desk.run("show", "monday", "--json").stdout)["thread_id"] == "monday"


@pytest.mark.parametrize("name", ["mon", "nothing", "%", "____"])
def test_what_begins_nothing_is_not_there(waiting_desk: tuple[Desk, Waiting], name: str) -> None:
    desk, _ = waiting_desk
    assert f"there is no thread or run {name}" in desk.run("show", name).stderr
