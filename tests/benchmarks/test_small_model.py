"""The judge of `small_model`, without a server: a true run passes, each untrue one is seen."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from benchmarks.small_model import GRANTED, MOST_TOKENS, REQUESTS, Played, decision, totals
from benchmarks.small_verdict import STORE, World, look, wrongs
from planwright.extras.demo.workspace import write_workspace
from planwright.graph.building import build_graph
from planwright.settings.settings import load

REQUEST = 'Create a ticket titled "Broken door" and write "Lunch" to notes/lunch.md'


@pytest.fixture
def done(tmp_path: Path) -> tuple[Path, World]:
    """Play a true run with two effects that a person approved; the folder, and what was there before."""
    write_workspace(tmp_path)
    before, config = look(tmp_path), {"configurable": {"thread_id": "t"}}
    with build_graph(load(tmp_path)) as agent:
        agent.invoke({"messages": [("user", REQUEST)]}, config)  # type: ignore[arg-type]
        out = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)  # type: ignore[arg-type]
    assert out["status"] == "completed"
    return tmp_path, before


def change(folder: Path, statement: str, file: Path = STORE) -> None:
    """Change a record behind the back of the product."""
    with closing(sqlite3.connect(folder / file)) as database, database:
        database.execute(statement)


def in_store(statement: str) -> Callable[[Path], None]:
    return lambda folder: change(folder, statement)


def in_tickets(statement: str) -> Callable[[Path], None]:
    return lambda folder: change(folder, statement, Path("tickets.db"))


def test_a_true_run_passes(done: tuple[Path, World]) -> None:
    folder, before = done
    assert wrongs(folder, before, 0, "Created the ticket.") == []


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (in_store("DELETE FROM gates"), "nobody approved tickets.create"),
        (in_store("UPDATE gates SET status = 'rejected'"), "nobody approved files.write"),
        (in_store("UPDATE gates SET shown = replace(shown, 'Broken', 'New')"), "nobody approved tickets"),
        (in_store("UPDATE gates SET decided_at = '9'"), "nobody approved tickets.create"),
        (in_store("UPDATE effects SET status = 'in_doubt'"), "leaves tickets.create as in_doubt"),
        (in_store("DELETE FROM effects WHERE capability = 'tickets.create'"), "ticket 7 is new"),
        (in_store("DELETE FROM effects WHERE capability = 'files.write'"), "notes/lunch.md is another"),
        (in_tickets("UPDATE tickets SET status = 'closed' WHERE id = 2"), "ticket 2 is another"),
        (in_tickets("DELETE FROM tickets WHERE id = 1"), "tickets [1] are gone"),
        (in_tickets("DELETE FROM tickets WHERE id = 7"), "1 tickets were made, and there are fewer"),
        (lambda folder: (folder / "notes" / "lunch.md").unlink(), "it is not there"),
        (in_store("UPDATE steps SET status = 'failed' WHERE step_id = 's2'"), "step s2 is failed"),
        (in_store("DELETE FROM steps WHERE step_id = 's1'"), "step s1 is None"),
        (in_store("UPDATE runs SET answer = ' '"), "its answer is empty"),
        (in_store("UPDATE runs SET status = 'failed'"), "it is failed, and the command exits with 0"),
        (in_store("UPDATE runs SET status = 'failed'"), "its journal says"),
        (in_store("UPDATE runs SET status = 'running', ended_at = NULL"), "it has not ended: running"),
        (in_store("DELETE FROM runs"), "there are 0 runs"),
    ],
)
def test_an_untrue_record_is_seen(
    done: tuple[Path, World], spoil: Callable[[Path], None], found: str
) -> None:
    folder, before = done
    spoil(folder)
    assert found in "; ".join(wrongs(folder, before, 0, ""))


def test_a_traceback_and_a_wrong_exit_code_are_seen(done: tuple[Path, World]) -> None:
    folder, before = done
    found = wrongs(folder, before, 1, "Traceback (most recent call last):\n  File …")
    assert found == ["a traceback was printed", "it is completed, and the command exits with 1"]


@pytest.mark.parametrize(
    ("names", "word"),
    [
        (("tickets.create",), "approve"),
        (("tickets.create", "files.write"), "approve"),
        (("tickets.create", "sql.execute"), "reject"),
        (("mail.send",), "reject"),
        ((), "reject"),
    ],
)
def test_the_person_approves_by_what_a_card_shows(names: tuple[str, ...], word: str) -> None:
    steps = [{"capability": name, "mode": "local_write", "params": {"path": "a"}} for name in names]
    reading = {"capability": "tickets.list", "mode": "read_only", "params": {}}
    assert decision({"goal": "g", "steps": [reading, *steps]}) == word
    assert "sql.execute" not in GRANTED


def played(**more: Any) -> Played:
    """Make what came of a request that ended well."""
    fields: dict[str, Any] = {"kind": "read", "planning": "always", "words": "w", "status": "failed"}
    fields |= {"answer": "a", "approved": 0, "rejected": 0, "effects": 0, "plans": 0, "verified": 0}
    fields |= {"calls": [], "unread": 0, "cut": 0, "not_held": 0, "seconds": 1.0, "wrong": []}
    return Played(**{**fields, **more})


def test_one_broken_bar_is_named_and_a_failure_that_is_told_is_none() -> None:
    call = {"role": "planner", "input_tokens": 10, "output_tokens": MOST_TOKENS, "seconds": 2.0}
    figures = totals([played(calls=[call], cut=1), played(status="completed")])
    assert figures["broken"] == []
    assert (figures["ended"], figures["planner_replies_cut"]) == ({"completed": 1, "failed": 1}, 1)
    for spoiled in ({"wrong": ["nobody approved x"]}, {"unread": 1}, {"not_held": 1}):
        assert len(totals([played(), played(**spoiled)])["broken"]) == 1


def test_twenty_requests_of_each_kind_by_plan_and_by_loop() -> None:
    assert len(REQUESTS) == 20
    assert {asked.kind for asked in REQUESTS} == {"effect", "read", "talk", "nonsense"}
    assert {asked.planning for asked in REQUESTS} == {"always", "never", "auto"}
    copied = [asked.words.partition(": ")[2] for asked in REQUESTS if asked.words.startswith("Reply with")]
    assert all(json.loads(plan)["steps"] for plan in copied)
