"""A store written by the program of 9ce67d1 (21 November 2026): every thread that waits in it goes on.

tests/stores/9ce67d1.zip is a whole workspace, with the script that wrote it (`written_by.py`) and a module of
capabilities that imports what the README of that day named.
"""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from planwright.capabilities.gateway.pins import NO_PIN
from planwright.checkpoints.upkeep.store_check import check_store
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.settings.settings import load

pytestmark = pytest.mark.sqlite

STORE = Path(__file__).parents[1] / "stores" / "9ce67d1.zip"
DAY_AFTER = datetime(2026, 11, 23, 12, tzinfo=UTC)  # no gate has expired


class Workspace:
    """The workspace as it was, and agents of today over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._opened: list[Agent] = []
        self._after = 0

    def agent(self, *replies: Any, **options: Any) -> Agent:
        """Open an agent with a scripted model."""
        model = ScriptedModel(replies=list(replies))
        agent = build_graph(load(self.folder, **options), model=model, clock=self._now)
        self._opened.append(agent)
        return agent

    def _now(self) -> datetime:
        self._after += 1
        return DAY_AFTER + timedelta(milliseconds=self._after)

    @property
    def done(self) -> list[str]:
        """What the capabilities wrote down."""
        return (self.folder / "done.log").read_text("utf-8").splitlines()

    def close(self) -> None:
        """Close what was opened."""
        for agent in self._opened:
            agent.close()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A copy of the store."""
    with zipfile.ZipFile(STORE) as packed:
        packed.extractall(tmp_path)
    opened = Workspace(tmp_path)
    yield opened
    opened.close()


def config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def waiting(agent: Agent, thread: str) -> list[dict[str, Any]]:
    """List what a thread asks a person."""
    return [asked.value for asked in agent.get_state(config(thread)).interrupts]


def answered(agent: Agent, thread: str, kind: str, **answer: Any) -> dict[str, Any]:
    """Answer the first thing that a thread asks, and return the state it comes to."""
    asked = waiting(agent, thread)[0]
    assert asked["kind"] == kind
    output: dict[str, Any] = agent.invoke(
        Command(resume={"gate_id": asked["gate_id"], **answer}), config(thread)
    )
    return output


def approved_again(agent: Agent, thread: str) -> dict[str, Any]:
    """Approve a plan, and once more: what it would call is on record only now."""
    assert answered(agent, thread, "plan", type="approve")["status"] == "interrupted"
    assert NO_PIN in json.dumps(waiting(agent, thread)[0]["shown"]["changes"])
    output = answered(agent, thread, "plan", type="approve")
    while output["status"] == "interrupted":  # values that were not known when the plan was approved
        output = answered(agent, thread, "step", type="approve")
    return output


def test_a_plan_is_approved_and_runs(workspace: Workspace) -> None:
    before = workspace.done
    output = approved_again(workspace.agent("the answer"), "plan gate")
    assert (output["status"], output["answer"]) == ("completed", "the answer")
    assert sorted(workspace.done[len(before) :]) == ["a", "b:after 2", "c", "d"]


def test_a_plan_is_rejected(workspace: Workspace) -> None:
    before = workspace.done
    output = answered(workspace.agent("never"), "plan gate", "plan", type="reject")
    assert (output["status"], workspace.done) == ("rejected", before)


@pytest.mark.parametrize(
    ("thread", "call", "line"),
    [("call gate", ("shop__pay", {"name": "p"}), "p"), ("quorum", ("shop__wire", {"name": "w"}), "w")],
    ids=["one person", "the second of two people"],
)
def test_an_approved_call_is_asked_for_once_more(
    workspace: Workspace, thread: str, call: tuple[str, Any], line: str
) -> None:
    again = {"content": "", "tool_calls": [{"name": call[0], "args": call[1], "id": "again"}]}
    agent, before = workspace.agent(again, "done", planning={"mode": "auto"}), workspace.done
    answered(agent, thread, "step", type="approve", decided_by="sam")
    assert workspace.done == before
    while waiting(agent, thread):
        answered(agent, thread, "step", type="approve", decided_by=f"person {len(before)}")
        before.append(line)
    assert agent.get_state(config(thread)).values["answer"] == "done"
    assert workspace.done[-1] == line


def test_a_run_that_was_escalated_is_ended_by_a_person(workspace: Workspace) -> None:
    agent = workspace.agent("never", approval={"depth": "plan_and_gates"})
    assert answered(agent, "escalation", "escalation", type="reject", message="no")["status"] == "escalated"


def test_a_question_of_an_agent_is_answered(workspace: Workspace) -> None:
    call = {"name": "clarify", "args": {"questions": ["Which Acme?"]}, "id": "again"}
    agent = workspace.agent({"content": "", "tool_calls": [call]}, "found out", "the answer")
    answered(agent, "info request", "info", type="respond", message="Acme Ltd")
    answered(agent, "info request", "plan", type="approve")
    output = answered(agent, "info request", "info", type="respond", message="Acme Ltd")
    assert (output["status"], output["answer"], workspace.done[-1]) == ("completed", "the answer", "next")


def test_lanes_that_wait_are_answered_one_after_the_other(workspace: Workspace) -> None:
    agent, before = workspace.agent("the answer"), workspace.done
    assert {asked["shown"]["step_id"] for asked in waiting(agent, "parked lanes")} == {"p1", "p2"}
    for kind in ("step", "step", "plan", "step"):
        assert answered(agent, "parked lanes", kind, type="approve")["status"] == "interrupted"
    assert answered(agent, "parked lanes", "step", type="approve")["status"] == "completed"
    assert sorted(workspace.done[len(before) :]) == ["after_1", "p1", "p2"]


@pytest.mark.parametrize(
    ("name", "expected"), [("fork", ["b:after 1", "c"]), ("undo", ["uny 1", "unx 1"])], ids=["fork", "undo"]
)
def test_a_fork_and_an_undoing_go_on(name: str, expected: list[str], workspace: Workspace) -> None:
    before = workspace.done
    thread = json.loads((workspace.folder / "threads.json").read_text("utf-8"))[name]
    output = approved_again(workspace.agent("the answer"), thread)
    assert (output["status"], workspace.done[len(before) :]) == ("completed", expected)


def test_a_conversation_of_that_day_takes_another_request(workspace: Workspace) -> None:
    agent = workspace.agent("another answer", planning={"mode": "auto"})
    output = agent.invoke({"messages": [("user", "Hello")]}, config("forked"))
    assert [message.text for message in output["messages"]] == [
        "Do it",
        "the answer",
        "Hello",
        "another answer",
    ]


def test_what_is_written_now_names_no_class_and_nothing_is_wrong_with_the_store(workspace: Workspace) -> None:
    folder = load(workspace.folder).store_folder
    assert not any(b"checked_step" in value for value in written(folder))
    approved_again(workspace.agent("the answer"), "plan gate")
    workspace.close()
    assert any(b"checked_step" in value for value in written(folder))
    assert [finding for finding in check_store(folder) if not finding.note] == []


def written(folder: Path) -> list[bytes]:
    """Read the bytes of all that checkpoints of a store hold, by an older program or by this one."""
    values: list[bytes] = []
    columns = {"checkpoints": "checkpoint", "writes": "value", "contents": "value"}
    for path in folder.glob("*.db"):
        with closing(sqlite3.connect(path)) as connection:
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
            for table in tables & columns.keys():
                values += [row[0] for row in connection.execute(f"SELECT {columns[table]} FROM {table}")]
    return [value for value in values if value is not None]
