"""Steps that use the same things run in the order of their plan; who waits, and what an answer changes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from planwright.graph.agent import Agent

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

DOUBLE, ADD = "UPDATE stock SET amount = amount * 2", "UPDATE stock SET amount = amount + 1"


def execute(scene: Scene, id_: str, statement: str) -> dict[str, Any]:
    return scene.step(id_, "sql.execute", params={"statement": statement, "database": "data.db"})


@pytest.fixture
def agent(scene: Scene) -> Agent:
    """Two changes of one database, each behind a gate of its own, and a look at it: 3 doubled, and 1 more."""
    with closing(sqlite3.connect(scene.workspace / "data.db")) as database:
        database.execute("CREATE TABLE stock (amount INTEGER)")
        database.execute("INSERT INTO stock VALUES (3)")
        database.commit()
    look = {"statement": "SELECT amount FROM stock", "database": "data.db"}
    steps = (execute(scene, "double", DOUBLE), execute(scene, "add", ADD))
    plan = scene.plan(*steps, scene.step("look", "sql.query", params=look))
    agent = scene.agent(plan, "the answer")
    scene.ask(agent)
    scene.decide(agent, "approve")
    return agent


def amount(scene: Scene) -> int:
    with closing(sqlite3.connect(scene.workspace / "data.db")) as database:
        return int(database.execute("SELECT amount FROM stock").fetchone()[0])


def decide(scene: Scene, agent: Agent, step: str, decision: str) -> None:
    scene.answer(agent, {"decisions": [{"type": decision}], "gate_id": scene.waiting(agent)[step]})


def seen(scene: Scene, agent: Agent) -> Any:
    results = agent.get_state(scene.config).values["results"].values()
    return next((one.output["rows"][0]["amount"] for one in results if one.step_id == "look"), None)


@pytest.mark.parametrize("answers", [("double", "add"), ("add", "double")])
def test_both_gates_are_open_at_once_and_the_calls_keep_their_order(
    scene: Scene, agent: Agent, answers: tuple[str, str]
) -> None:
    assert sorted(scene.waiting(agent)) == ["add", "double"]
    decide(scene, agent, answers[0], "approve")
    assert amount(scene) == (6 if answers[0] == "double" else 3)
    assert seen(scene, agent) is None
    decide(scene, agent, answers[1], "approve")
    assert (amount(scene), seen(scene, agent)) == (7, 7)


@pytest.mark.parametrize("answers", [("double", "add"), ("add", "double")])
def test_a_step_that_only_follows_another_runs_also_where_that_was_rejected(
    scene: Scene, agent: Agent, answers: tuple[str, str]
) -> None:
    for step in answers:
        decide(scene, agent, step, "reject" if step == "double" else "approve")
    assert (amount(scene), seen(scene, agent)) == (4, 4)


@pytest.mark.parametrize("order", ["dataflow", "waves"])
def test_what_is_written_is_read(scene: Scene, order: str) -> None:
    text = {"path": "a.txt", "text": "hello world"}
    plan = scene.plan(
        scene.step("write", "files.write", params=text),
        scene.step("read", "files.read", params={"path": "a.txt"}),
        {"id": "agent", "tool_hints": ["files.read"], "description": "Read it, too"},
    )
    reading = scene.calls(("files__read", {"path": "a.txt"}))
    agent = scene.agent(plan, reading, "it says hello world", "done", execution={"order": order})
    scene.ask(agent)
    assert scene.decide(agent, "approve")["status"] == "completed"
    results = agent.get_state(scene.config).values["results"].values()
    outputs = {one.step_id: one.output for one in results}
    assert outputs["read"]["text"] == "hello world"
    calls = [event["data"] for event in scene.journal() if event["type"] == "tool_call_end"]
    assert [call["status"] for call in calls] == ["completed"]
