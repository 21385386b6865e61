"""How long checkpoints stay, tenant by tenant; what waits or is in doubt stays, and the record is whole."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from planwright.cli.views.open_store import store_files
from planwright.domain.clock import utc_now
from planwright.records.records import open_records
from planwright.settings.settings import load
from planwright.settings.workspace import StorageSettings
from planwright.upkeep.prune import Retention, prune_in_use, prune_store
from planwright.upkeep.store_check import check_store
from tests.scenarios.conftest import Scene

STORAGE = {"keep_days": 30, "tenants": {"brief": {"keep_days": 1}, "few": {"keep_checkpoints": 2}}}
RECORDS = ("runs", "plans", "gates", "effects", "steps", "journal", "verdicts", "audit")
WITHIN = "SELECT checkpoint_ns, count(*) AS n FROM checkpoints WHERE checkpoint_ns <> '' GROUP BY 1"
TENANTS = ("default", "brief", "few")


def begin(scene: Scene, capability: str, tenant: str, *, end: str = "", **settings: Any) -> str:
    """Begin a run of a tenant on a thread of its own, and perhaps answer its gate."""
    agent = scene.agent(
        scene.plan(scene.step("s1", capability)), "the answer", approval={"plan": "never"}, **settings
    )
    thread = f"{capability} of {tenant}"
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    context = {"tenant": tenant}
    agent.invoke({"messages": [("user", "Do it")]}, config, context=context)
    if end:
        agent.invoke(Command(resume=end), config, context=context)
    agent.close()
    return thread


def counts(scene: Scene) -> dict[str, int]:
    rows = scene.rows("SELECT thread_id, count(*) AS n FROM checkpoints GROUP BY thread_id")
    return {row["thread_id"]: row["n"] for row in rows}


def prune(scene: Scene, days: float, **storage: Any) -> int:
    """Remove what goes so many days from now, as the command does with files and with a server."""
    retention = Retention(StorageSettings(**{**STORAGE, **storage}), utc_now() + timedelta(days=days))
    settings = load(scene.workspace)
    if not settings.store_url:
        return prune_store(settings.store_folder, retention)
    with closing(open_records(settings.store_folder, url=settings.store_url)) as records:
        return asyncio.run(prune_in_use(records.database, retention))


def check_whole(scene: Scene) -> None:
    with store_files(load(scene.workspace)) as folder:
        assert check_store(folder) == []


def test_each_tenant_has_its_own_days_and_nothing_of_the_record_goes(scene: Scene) -> None:
    ended = {tenant: begin(scene, "work.read", tenant) for tenant in TENANTS}
    before = counts(scene)
    records = {table: scene.rows(f"SELECT * FROM {table}") for table in RECORDS}
    assert prune(scene, 0, tenants={}) == 0
    assert prune(scene, 2) > 0
    assert counts(scene) == before | {ended["brief"]: 1, ended["few"]: 2}
    assert prune(scene, 31) > 0
    assert set(counts(scene).values()) == {1}
    assert {table: scene.rows(f"SELECT * FROM {table}") for table in RECORDS} == records
    check_whole(scene)


def test_what_waits_for_a_person_is_kept_whatever_its_age(scene: Scene) -> None:
    waiting = begin(scene, "work.wipe", "brief")
    before = counts(scene)
    assert prune(scene, 1000) == 0
    assert counts(scene) == before
    check_whole(scene)
    agent = scene.agent("the answer")
    config: RunnableConfig = {"configurable": {"thread_id": waiting}}
    output = agent.invoke(Command(resume="approve"), config, context={"tenant": "brief"})
    assert (output["status"], scene.done) == ("completed", ["s1"])


def test_what_a_graph_of_the_users_own_has_within_its_nodes_is_kept(scene: Scene) -> None:
    thread = begin(scene, "work.wipe", "default")
    inner = {row["checkpoint_ns"]: row["n"] for row in scene.rows(WITHIN)}
    assert inner
    agent = scene.agent()

    def forget(
        connection: sqlite3.Connection,
    ) -> None:  # so it is that of a graph with our saver, and no runs
        for table in ("runs", "gates"):
            connection.execute(f"DELETE FROM {table} WHERE thread_id = ?", (thread,))

    agent.stores.database.call("test", forget)
    prune(scene, 1000)
    assert {row["checkpoint_ns"]: row["n"] for row in scene.rows(WITHIN)} == inner


def test_on_a_server_a_thread_that_a_process_is_at_is_left_alone(scene: Scene) -> None:
    begin(scene, "work.read", "brief")
    before, retention = counts(scene), Retention(StorageSettings(keep_days=1), utc_now() + timedelta(days=9))
    agent = scene.agent()

    def hold(until: float) -> None:
        query = "UPDATE runs SET lease_until = ?"
        agent.stores.database.call("test", lambda c: c.execute(query, (until,)).rowcount)

    hold(1)
    assert asyncio.run(prune_in_use(agent.stores.database, retention)) == 0
    assert counts(scene) == before
    hold(0)
    assert asyncio.run(prune_in_use(agent.stores.database, retention)) > 0
    assert set(counts(scene).values()) == {1}


def test_what_is_in_doubt_is_kept_after_its_run_has_ended(scene: Scene) -> None:
    (scene.workspace / "lose-after-s1").touch()
    begin(scene, "work.post", "brief", end="reject")
    assert scene.rows("SELECT status FROM effects") == [{"status": "in_doubt"}]
    begin(scene, "work.read", "brief")
    before = counts(scene)
    assert prune(scene, 1000) > 0
    assert counts(scene) == before | {"work.read of brief": 1}


def test_a_run_that_ends_leaves_what_its_tenant_keeps(scene: Scene) -> None:
    for tenant in TENANTS:
        begin(scene, "work.read", tenant, storage=STORAGE)
    left = counts(scene)
    assert left["work.read of few"] == 2 < left["work.read of default"] == left["work.read of brief"]


def test_the_settings_name_it_in_the_file(scene: Scene) -> None:
    with (scene.workspace / "planwright.toml").open("a", encoding="utf-8") as file:
        file.write("[storage.tenants.brief]\nkeep_days = 1\nkeep_checkpoints = 5\n")
    storage = load(scene.workspace).storage
    assert [storage.days_of(name) for name in ("brief", "default")] == [1, None]
    assert [storage.checkpoints_of(name) for name in ("brief", "default")] == [5, 50]
