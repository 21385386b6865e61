"""The watchdog: workers that die, that stop in the middle, and sessions that break off again and again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import SimpleNamespace
from typing import Any, cast

from planwright.extras.worker.watchdog import Watchdog
from planwright.graph.agent import Agent
from planwright.records.stores import open_stores
from planwright.state.invocation import Invocation
from tests.extras.worker.conftest import AtWork, eventually, until
from tests.opened_store import opened_store, store_url
from tests.scenarios.conftest import Scene

ALONE = {"plan": "never", "risk": "Critical", "tool_risk": "Critical"}
ANOTHER = "SELECT status FROM runs WHERE thread_id = 'another'"
QUICK: dict[str, Any] = {"queue": {"look_s": 0.01}}


async def broken_off(scene: Scene, *replies: str, **settings: Any) -> Agent:
    """Queue a run, and leave it as a worker does that was killed in the middle of a call."""
    agent = scene.agent(*replies, approval=ALONE, **{**QUICK, **settings})
    await agent.aenqueue("Write", thread_id=scene.thread)
    (scene.workspace / "die-s1").touch()
    plan = scene.plan(scene.step("s1", "work.write"))
    scene.child(scene.entry(), replies=[plan], settings={"approval": ALONE}, dies=True)
    assert scene.rows("SELECT status FROM runs") == [{"status": "running"}]
    return agent


def change(scene: Scene, query: str, *values: object) -> None:
    """Change the records from outside."""
    with closing(opened_store(scene.workspace / ".planwright")) as db, db:
        db.execute(query, values)


async def test_what_a_killed_worker_left_is_gone_on_with(scene: Scene, at_work: AtWork) -> None:
    agent = await broken_off(scene, "written")
    async with at_work(agent):
        await until(scene, "completed")
    assert scene.rows("SELECT breaks FROM sessions") == [{"breaks": 1}]
    assert scene.done == ["began s1", "s1"]


async def test_where_a_crash_is_a_failure_the_run_has_failed(scene: Scene, at_work: AtWork) -> None:
    agent = scene.agent("never said", sessions={"on_crash": "fail"}, **QUICK)
    await agent.aenqueue("Read", thread_id=scene.thread)
    scene.child(scene.entry(), replies=[scene.plan(scene.step("s1", "work.read"))], die_at="plan")
    async with at_work(agent):
        await until(scene, "failed")
    (run,) = scene.rows("SELECT cancelled_by FROM runs")
    assert run == {"cancelled_by": "the death of its worker (sessions.on_crash)"}


async def test_but_not_where_an_effect_may_have_happened(scene: Scene, at_work: AtWork) -> None:
    agent = await broken_off(scene, "never said", sessions={"on_crash": "fail"})
    async with at_work(agent):
        await until(scene, "escalated")


async def test_what_breaks_off_again_and_again_is_left_to_a_person(scene: Scene, at_work: AtWork) -> None:
    agent = await broken_off(scene, "written", sessions={"most_breaks": 2})
    change(scene, "UPDATE sessions SET breaks = 2, broken_token = 0")
    async with at_work(agent):
        await until(scene, "paused")
    (run,) = scene.rows("SELECT paused_for FROM runs")
    assert run == {"paused_for": "it broke off 3 times (sessions.most_breaks)"}
    await agent.stores.sessions.resume(scene.thread, "ann")
    async with at_work(agent):
        await until(scene, "completed")


@contextmanager
def silent_owner(scene: Scene, agent: Agent) -> Iterator[None]:
    """Let a process hold the run that lives, and has not reported for a long time."""
    stores = open_stores(scene.workspace / ".planwright", url=store_url())
    run = agent.loop.call(lambda: agent.stores.runs.latest(scene.thread))
    assert run is not None
    agent.loop.call(lambda: stores.leases.take(run, 1e9))
    change(scene, "UPDATE runs SET status = 'running', lease_until = 1")
    yield
    stores.close()


async def test_a_run_whose_owner_gives_no_sign_is_paused(scene: Scene, at_work: AtWork) -> None:
    agent = scene.agent(**QUICK)
    await agent.aenqueue("Read", thread_id=scene.thread)
    with silent_owner(scene, agent):
        async with at_work(agent):
            await until(scene, "paused")
    (run,) = scene.rows("SELECT paused_for FROM runs")
    assert run["paused_for"].startswith("no sign of life from process")


async def test_or_taken_over_where_the_settings_say_so(scene: Scene, at_work: AtWork) -> None:
    agent = scene.agent(
        scene.plan(scene.step("s1", "work.read")), "read", sessions={"on_silence": "resume"}, **QUICK
    )
    await agent.aenqueue("Read", thread_id=scene.thread)
    with silent_owner(scene, agent):
        async with at_work(agent):
            await until(scene, "completed")
    assert scene.done == ["s1"]


async def test_a_run_whose_owner_reports_is_left_alone(scene: Scene, at_work: AtWork) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "read", **QUICK)
    await agent.aenqueue("Read", thread_id=scene.thread)
    with silent_owner(scene, agent):
        change(scene, "UPDATE runs SET lease_until = 1e12")
        await agent.aenqueue("Read", thread_id="another")
        async with at_work(agent):
            await eventually(lambda: scene.rows(ANOTHER) == [{"status": "completed"}])
    assert scene.rows("SELECT status FROM runs WHERE thread_id <> 'another'") == [{"status": "running"}]


async def test_a_run_that_ends_while_its_time_is_measured_is_no_end_of_its_worker(
    scene: Scene, at_work: AtWork
) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "read", queue={"look_s": 0.01})
    await agent.aenqueue("Read", thread_id="t")
    async with at_work(agent):
        await until(scene, "completed")
    run = await agent.stores.runs.latest("t")
    assert run is not None
    agent.door.working[run.run_id] = cast(Invocation, SimpleNamespace(worked_s=1e9, cancelled_by=""))
    await Watchdog(agent).look(())
    assert scene.rows("SELECT status FROM runs") == [{"status": "completed"}]
