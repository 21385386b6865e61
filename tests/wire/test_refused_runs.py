"""A run whose effects were all refused ends so, with exit code 4 and the name of who refused what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.desk import Desk
from tests.wire.conftest import Serve
from tests.wire.scripted_server import Reply, calls, says

pytestmark = pytest.mark.enable_socket

DELETE = {"database": "tickets.db", "statement": "DELETE FROM tickets WHERE id = 1"}
REQUEST = "Delete ticket 1 from the database, and tell me what tickets there are"
LEFT = "SELECT count(*) FROM tickets WHERE id = 1"
SETTINGS = """[planning]
mode = "{mode}"
[approval]
depth = "plan"
[planner]
attempts = 1
[failover]
retries = 1
base_ms = 1
[providers.local]
base_url = "{address}"
model = "m"
api_key = "k-7319"
capabilities = ["function_calling"]
"""


def desk_with(workspace: Path, serve: Serve, mode: str, *replies: Reply) -> Desk:
    """A workspace whose model replies from a list."""
    desk = Desk(workspace)
    desk.settings(SETTINGS.format(mode=mode, address=serve(*replies).base_url))
    return desk


def plan(*steps: dict[str, Any]) -> Reply:
    listed = [{"estimated_risk": "None", **step} for step in steps]
    return says(json.dumps({"goal": "Delete ticket 1", "steps": listed}))


REMOVE = {"id": "s1", "capability": "sql.execute", "params": DELETE}
LIST = {"id": "s2", "capability": "tickets.list", "params": {}}


def test_the_only_call_of_a_loop_rejected(workspace: Path, serve: Serve) -> None:
    replies = (calls("tickets__list", {}), calls("sql__execute", DELETE), says("Then I leave it."))
    desk = desk_with(workspace, serve, "never", *replies)
    assert desk.run("run", REQUEST).code == 3
    done = desk.run("reject", "--reason", "keep it")
    assert (done.code, done.stdout) == (4, "Then I leave it.\n")
    assert desk.rows("SELECT status FROM runs") == [("rejected",)]
    assert desk.rows(LEFT, "tickets.db") == [(1,)]


def test_a_loop_that_has_changed_something_completes_whatever_else_was_rejected(
    workspace: Path, serve: Serve
) -> None:
    write = calls("memory__write", {"text": "ticket 1 stays"})
    desk = desk_with(workspace, serve, "never", write, calls("sql__execute", DELETE), says("Noted."))
    done = desk.run("run", f"{REQUEST}, remember that ticket 1 stays")
    while done.code == 3:
        kind = "reject" if desk.rows("SELECT 1 FROM effects") else "approve"
        done = desk.run(kind)
    assert (done.code, done.stdout) == (0, "Noted.\n")


@pytest.mark.parametrize("more", [(), (LIST,)], ids=["alone", "beside a read"])
def test_the_only_effect_of_a_plan_rejected_at_its_own_gate(
    workspace: Path, serve: Serve, more: tuple[dict[str, Any], ...]
) -> None:
    desk = desk_with(workspace, serve, "always", plan(REMOVE, *more), says("Nothing was deleted."))
    assert desk.run("run", REQUEST).code == 3
    assert desk.run("approve").code == 3  # the plan; a destructive step has a gate of its own
    done = desk.run("reject", "--reason", "keep it")
    who = desk.rows("SELECT decided_by FROM gates WHERE kind = 'step'")[0][0]
    assert (done.code, done.stdout) == (
        4,
        f"sql.execute was rejected by {who}: keep it.\nNothing was deleted.\n",
    )
    assert desk.rows("SELECT status FROM runs") == [("rejected",)]
    assert desk.rows(LEFT, "tickets.db") == [(1,)]


def test_a_plan_that_has_changed_something_completes_with_skips(workspace: Path, serve: Serve) -> None:
    note = {"id": "s0", "capability": "memory.write", "params": {"text": "ticket 1 stays"}}
    desk = desk_with(workspace, serve, "always", plan(note, REMOVE), says("Noted, and nothing deleted."))
    assert desk.run("run", REQUEST).code == 3
    assert desk.run("approve").code == 3
    done = desk.run("reject")
    told = "sql.execute: rejected by root: no reason given\nNoted, and nothing deleted.\n"
    assert (done.code, done.stdout) == (0, told)
    assert desk.rows("SELECT status FROM runs") == [("completed_with_skips",)]


def test_the_effects_of_an_agentic_step_rejected(workspace: Path, serve: Serve) -> None:
    agent = {"id": "s1", "description": "Delete ticket 1", "tool_hints": ["sql.execute", "tickets.list"]}
    replies = (plan(agent), calls("sql__execute", DELETE), says("I may not."), says("It is still there."))
    desk = desk_with(workspace, serve, "always", *replies)
    assert desk.run("run", REQUEST).code == 3
    assert desk.run("approve").code == 3
    done = desk.run("reject", "--reason", "keep it")
    assert done.code == 4
    assert "sql.execute was rejected by" in done.stdout
    assert "keep it" in done.stdout


@pytest.mark.parametrize("reason", ["", "not now"])
def test_a_plan_rejected_as_a_whole_says_by_whom(workspace: Path, serve: Serve, reason: str) -> None:
    again = says(json.dumps({"cannot": "there is no other way"}))
    desk = desk_with(workspace, serve, "always", plan(REMOVE), again)
    assert desk.run("run", REQUEST).code == 3
    done = desk.run("reject", "--reason", reason)
    ((who,),) = desk.rows("SELECT decided_by FROM gates")
    assert done.code == 4
    assert f"The plan was rejected by {who}" in done.stdout
    assert reason in done.stdout


def test_the_only_call_of_a_loop_that_nobody_decided_over_expires(workspace: Path, serve: Serve) -> None:
    desk = desk_with(workspace, serve, "never", calls("sql__execute", DELETE), says("Nobody answered."))
    assert desk.run("run", REQUEST).code == 3
    ((thread,),) = desk.rows("SELECT thread_id FROM runs")
    desk.change("UPDATE gates SET closes_s = 0")
    done = desk.run("resume", thread)
    assert (done.code, done.stdout) == (4, "Nobody answered.\n")
    assert desk.rows("SELECT status FROM runs") == [("expired",)]
