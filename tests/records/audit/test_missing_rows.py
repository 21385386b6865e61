"""A verdict or a checkpoint that was never written is missed: by the audit, by `db check` and by a replay."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from planwright.domain.clock import utc_now
from planwright.extras.audit.replay import replay_run
from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.records.audit.sealing import latest_seal
from planwright.records.audit.verification import verify_chain
from planwright.store.audit_chain import append
from planwright.store.blobs import Blobs
from planwright.store.sealed_rows import TABLES
from planwright.upkeep.store_check import check_store
from tests.scenarios.conftest import Scene
from tests.scenarios.conftest import scene as scene
from tests.scenarios.conftest import stage as stage

pytestmark = pytest.mark.sqlite

LEAVE_OUT = "CREATE TRIGGER left_out BEFORE INSERT ON {} BEGIN SELECT RAISE(IGNORE); END"


def leave_out(scene: Scene, table: str) -> None:
    """Let SQLite leave out each row of a table from now on, and say nothing."""
    with closing(sqlite3.connect(scene.workspace / ".planwright" / "planwright.db")) as store, store:
        store.execute(LEAVE_OUT.format(table))


@pytest.fixture
def agent(scene: Scene) -> Agent:
    """An agent whose store is there already, and whose plan has one step."""
    opened = scene.agent(scene.plan(scene.step("s1", "work.read")), "read it")
    opened.stores.database.call("open", lambda _: None)
    return opened


def in_session(agent: Agent, scene: Scene) -> None:
    """Play a run as a session."""

    async def play() -> None:
        await agent.aenqueue("Read", thread_id=scene.thread)
        await Worker(agent).run(until_idle=True)

    asyncio.run(play())


@pytest.fixture
def folder(scene: Scene) -> Path:
    return scene.workspace / ".planwright"


def found(folder: Path) -> tuple[list[str], list[str], tuple[str, ...]]:
    """List what the audit, `db check` and the replay of the only run find."""
    with closing(sqlite3.connect(folder / "planwright.db")) as store:
        store.row_factory = sqlite3.Row
        audit = [finding.problem for finding in verify_chain(store)[0]]
        (run_id,) = store.execute("SELECT run_id FROM runs").fetchone()
        replayed = replay_run(store, Blobs(folder / "blobs"), run_id).differences
        store.execute("DROP TRIGGER IF EXISTS left_out")
        store.commit()
    return audit, [finding.problem for finding in check_store(folder)], replayed


def test_a_run_that_ended_without_its_verdict_is_found(agent: Agent, scene: Scene, folder: Path) -> None:
    leave_out(scene, "verdicts")
    assert scene.ask(agent)["status"] == "completed"
    agent.close()
    audit, checked, replayed = found(folder)
    lacks_verdict, not_accepted = sorted(audit, reverse=True)
    assert lacks_verdict.startswith("verdict plan_")
    assert lacks_verdict.endswith("is not on record, and the journal tells of it")
    assert not_accepted == "it is completed, and no verdict that accepts it is on record"
    assert sorted(replayed, reverse=True) == [lacks_verdict, not_accepted]
    assert {problem.partition(" of run")[0] for problem in checked} == {lacks_verdict, not_accepted}


def test_a_session_that_ended_without_a_checkpoint_is_found(agent: Agent, scene: Scene, folder: Path) -> None:
    leave_out(scene, "session_checkpoints")
    in_session(agent, scene)
    assert scene.rows("SELECT status FROM runs") == [{"status": "completed"}]
    agent.close()
    audit, checked, replayed = found(folder)
    (problem,) = audit
    assert problem.endswith("has no checkpoint on record, and is one of a session")
    assert replayed == (problem,)
    assert [line.partition(" of run")[0] for line in checked] == [problem]


def test_a_checkpoint_that_was_removed_from_a_session_that_has_ended_is_found(
    agent: Agent, scene: Scene, folder: Path
) -> None:
    in_session(agent, scene)
    agent.close()
    assert found(folder) == ([], [], ())
    with closing(sqlite3.connect(folder / "planwright.db")) as store, store:
        store.execute("DROP TRIGGER session_checkpoints_remain")
        store.execute("DELETE FROM session_checkpoints")
    audit, checked, replayed = found(folder)
    assert [problem.rpartition(" ")[2] for problem in sorted(audit)] == ["gone", "session"]
    assert "triggers that keep rows as they are are gone: session_checkpoints_remain" in checked
    assert len(replayed) == 1


@pytest.fixture
def sealed_before(agent: Agent, scene: Scene, folder: Path) -> Iterator[sqlite3.Connection]:
    """A store whose only run, a session, was sealed before checkpoints of sessions were."""
    in_session(agent, scene)
    agent.close()
    with closing(sqlite3.connect(folder / "planwright.db")) as store:
        store.row_factory = sqlite3.Row
        (run_id, tenant) = store.execute("SELECT run_id, tenant FROM runs").fetchone()
        seal = latest_seal(store, run_id)
        assert seal is not None
        rows = {name: keys for name, keys in seal.rows.items() if TABLES[name].since == 1}
        older = seal.model_copy(update={"layout": 1, "rows": rows})
        append(store, "run", (tenant, run_id), run_id, older.model_dump(mode="json"), utc_now())
        store.commit()
        yield store


def test_a_seal_of_fewer_tables_is_compared_with_those(sealed_before: sqlite3.Connection) -> None:
    assert verify_chain(sealed_before)[0] == []
