"""A row that the store refuses: the run stops before anything that leans on it, and goes on where it was."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from planwright.checkpoints.upkeep.store_check import check_store
from planwright.domain.errors import StoreFailed
from planwright.graph.agent import Agent

pytestmark = pytest.mark.sqlite

if TYPE_CHECKING:
    from tests.scenarios.conftest import Scene

REFUSAL = "CREATE TRIGGER refusal BEFORE {} BEGIN SELECT RAISE(ABORT, 'no row of yours'); END"
IN_THE_MIDDLE = "WHEN EXISTS (SELECT 1 FROM effects)"
REFUSED = {
    "verdicts": "INSERT ON verdicts",
    "plans": "INSERT ON plans",
    "steps": "INSERT ON steps",
    "effects": "UPDATE ON effects",
    "journal": f"INSERT ON journal {IN_THE_MIDDLE}",
    "usage": f"INSERT ON usage {IN_THE_MIDDLE}",
    "threads": "INSERT ON threads",
    "checkpoints": f"INSERT ON checkpoints {IN_THE_MIDDLE}",
    "contents": f"INSERT ON contents {IN_THE_MIDDLE}",
    "writes": f"INSERT ON writes {IN_THE_MIDDLE}",
    "runs": "UPDATE OF ended_at ON runs",
    "audit": "INSERT ON audit",
}


def refuse(scene: Scene, event: str) -> None:
    """Let SQLite itself refuse rows of a table from now on."""
    with closing(sqlite3.connect(scene.workspace / ".planwright" / "planwright.db")) as store, store:
        store.execute(REFUSAL.format(event))


def take_again(scene: Scene) -> None:
    """End that."""
    with closing(sqlite3.connect(scene.workspace / ".planwright" / "planwright.db")) as store, store:
        store.execute("DROP TRIGGER refusal")


def opened(scene: Scene, *replies: str) -> Agent:
    """Open an agent whose store is there already."""
    agent = scene.agent(*replies, approval={"plan": "never"})
    agent.stores.database.call("open", lambda _: None)
    return agent


@pytest.mark.parametrize("table", REFUSED)
def test_the_run_stops_and_goes_on_where_it_was(scene: Scene, table: str) -> None:
    steps = [scene.step("s1", "work.transfer"), scene.step("s2", "work.transfer", "s1")]
    agent = opened(scene, scene.plan(*steps), "the answer", "the answer")
    refuse(scene, REFUSED[table])
    with pytest.raises(
        StoreFailed, match=r"refuses a statement: no row of yours; run run_\w+ is paused"
    ) as stopped:
        scene.ask(agent)
    assert f"nothing is done twice: planwright resume {scene.thread}" in stopped.value.next_step
    (run,) = scene.rows("SELECT status, paused_for, answer FROM runs")
    assert run == {"status": "paused", "paused_for": "storage", "answer": None}
    take_again(scene)
    output = scene.recover(agent)
    assert (output["status"], output["answer"]) == ("completed", "the answer")
    assert [line for line in scene.done if not line.startswith("looked")] == ["s1", "s2"]
    assert len(scene.rows("SELECT 1 FROM verdicts")) == 1
    agent.close()
    assert [found.problem for found in check_store(scene.workspace / ".planwright")] == []
