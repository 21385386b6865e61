"""A row that the store refuses: the run stops before anything that leans on it, and goes on where it was."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planwright.domain.errors import StoreFailed
from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.stores import open_stores
from planwright.settings.settings import load
from planwright.upkeep.store_check import check_store

pytestmark = [pytest.mark.sqlite, pytest.mark.long]

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

AFTER_THE_ANSWER = ("threads", "runs")
"""Tables whose row is written once the answer is told."""


def refuse(scene: Scene, event: str) -> None:
    """Let SQLite itself refuse rows of a table from now on."""
    with closing(sqlite3.connect(scene.workspace / ".planwright" / "planwright.db")) as store, store:
        store.execute(REFUSAL.format(event))


def take_again(scene: Scene) -> None:
    """End that."""
    with closing(sqlite3.connect(scene.workspace / ".planwright" / "planwright.db")) as store, store:
        store.execute("DROP TRIGGER refusal")


def problems(scene: Scene) -> list[str]:
    """List what `planwright db check` finds."""
    return [found.problem for found in check_store(scene.workspace / ".planwright")]


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
    told = "the answer" if table in AFTER_THE_ANSWER else None
    assert run == {"status": "paused", "paused_for": "storage", "answer": told}
    assert "triggers of others act on its rows: refusal" in problems(scene)
    take_again(scene)
    output = scene.recover(agent)
    assert (output["status"], output["answer"]) == ("completed", "the answer")
    assert [line for line in scene.done if not line.startswith("looked")] == ["s1", "s2"]
    assert len(scene.rows("SELECT 1 FROM verdicts")) == 1
    agent.close()
    assert problems(scene) == []


def test_a_session_whose_checkpoint_is_refused_pauses_and_is_gone_on_with(scene: Scene) -> None:
    agent = opened(scene, scene.plan(scene.step("s1", "work.transfer")), "the answer")
    refuse(scene, "INSERT ON session_checkpoints")

    async def work() -> list[dict[str, Any]]:
        await Worker(agent).run(until_idle=True)
        return scene.rows("SELECT status, paused_for FROM runs")

    async def play() -> None:
        await agent.aenqueue("Do it", thread_id=scene.thread)
        assert await work() == [{"status": "paused", "paused_for": "storage"}]
        assert [scene.rows(f"SELECT 1 FROM {table}") for table in ("verdicts", "session_checkpoints")] == [
            [],
            [],
        ]
        take_again(scene)
        assert await work() == [{"status": "completed", "paused_for": None}]

    asyncio.run(play())
    assert [line for line in scene.done if not line.startswith("looked")] == ["s1"]
    (verdict,), (checkpoint,) = (
        scene.rows(f"SELECT * FROM {table}") for table in ("verdicts", "session_checkpoints")
    )
    assert checkpoint["verdict_key"] == verdict["key"]
    agent.close()
    assert problems(scene) == []


class FullDisk:
    """Let no file of this process grow, from before a job of some name on, until there is room again."""

    def __init__(self, log: Path, job: str) -> None:
        self._log, self._job = log, job
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def boundary(self, name: str) -> None:
        if self._log.exists() and self._job in name.rpartition("before ")[2].split("+"):
            self._job = ""
            resource.setrlimit(resource.RLIMIT_FSIZE, (self._log.stat().st_size, self._limits[1]))

    def make_room(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)


@pytest.fixture
def disk(scene: Scene) -> Iterator[FullDisk]:
    """A disk that is full when the verdict is to be written."""
    full = FullDisk(scene.workspace / ".planwright" / "planwright.db-wal", "verdict")
    yield full
    full.make_room()


def test_on_a_full_disk_the_verdict_is_written_once_there_is_room(scene: Scene, disk: FullDisk) -> None:
    settings = load(scene.workspace, approval={"plan": "never"})
    stores = open_stores(settings.store_folder, boundary=disk.boundary)
    model = ScriptedModel(replies=[scene.plan(scene.step("s1", "work.transfer")), "the answer"])
    agent = build_graph(settings, model=model, stores=stores)
    scene.agents.append(agent)
    with pytest.raises(StoreFailed, match=r"there is no space left .*; run run_\w+ is paused"):
        scene.ask(agent)
    assert scene.rows("SELECT 1 FROM verdicts") == []
    disk.make_room()
    assert scene.recover(agent)["status"] == "completed"
    assert [line for line in scene.done if not line.startswith("looked")] == ["s1"]
    assert len(scene.rows("SELECT 1 FROM verdicts")) == 1
    agent.close()
    assert problems(scene) == []
