"""The worker: what is queued is done once, whoever stops, dies or says no in between."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from langgraph.types import Command

from planwright.capabilities.declaration import capability
from planwright.domain.errors import GateError, QueueFull, RunError, RunHeld, StoreFailed
from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.records.consent.gate import Decision
from planwright.records.runs import Run
from planwright.state.invocation import Invocation
from planwright.upkeep.store_check import check_store
from tests.extras.worker.conftest import AtWork, drained, eventually, until
from tests.extras.worker.door import Door
from tests.patience import PATIENCE_S
from tests.scenarios.conftest import Scene

OPEN = "SELECT gate_id FROM gates g JOIN runs r USING (run_id) WHERE g.status = 'open' AND lease_until = 0"
QUICK = {"queue": {"look_s": 0.01}}


def types(scene: Scene) -> list[str]:
    return [event["type"] for event in scene.journal()]


def through_doors(scene: Scene, door: Door, *after: tuple[str, ...]) -> Agent:
    steps = [scene.step(f"s{n}", "door.pass", *needs) for n, needs in enumerate(after, 1)]
    return scene.agent(scene.plan(*steps), "passed", "passed", capabilities=[door.capability], **QUICK)


async def test_what_is_queued_is_done_and_told(scene: Scene, at_work: AtWork) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "read it", **QUICK)
    config = await agent.aenqueue("Read", thread_id=scene.thread)
    assert config == scene.config
    assert scene.rows("SELECT status, lease_token FROM runs") == [{"status": "queued", "lease_token": 0}]
    async with at_work(agent):
        assert await until(scene, "completed") == ["completed"]
    events = types(scene)
    assert events[:3] == ["task_queued", "task_started", "run_start"]
    assert events[-2:] == ["task_completed", "run_end"]
    assert events.index("checkpoint") < events.index("verdict")
    assert (await agent.aget_state(scene.config)).values["answer"] == "read it"


async def test_a_worker_that_comes_before_its_store_begins_when_that_is_there(
    scene: Scene, at_work: AtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "read it", **QUICK)
    await agent.aenqueue("Read", thread_id=scene.thread)
    run, failures = agent.stores.database.run, iter([StoreFailed("the server is gone", "start it")])

    async def run_late(name: str, job: Any, **options: Any) -> Any:
        if name == "worker" and (failure := next(failures, None)):
            raise failure
        return await run(name, job, **options)

    monkeypatch.setattr(agent.stores.database, "run", run_late)
    async with at_work(agent):
        assert await until(scene, "completed") == ["completed"]


async def test_a_server_that_is_slow_to_say_who_lives_does_not_hold_up_the_loop_of_a_worker(
    scene: Scene, at_work: AtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a signal that is to end it would not be heard."""
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "read it", **QUICK)
    await agent.aenqueue("Read", thread_id=scene.thread)
    is_leased, heard, loop = agent.stores.leases.is_leased, threading.Event(), asyncio.get_running_loop()

    def slow(run: Run) -> bool:
        loop.call_soon_threadsafe(heard.set)
        return is_leased(run) if heard.wait(PATIENCE_S) else True

    monkeypatch.setattr(agent.stores.leases, "is_leased", slow)
    async with at_work(agent):
        assert await until(scene, "completed") == ["completed"]


async def test_who_has_read_a_run_before_another_did_it_does_not_begin_it_anew(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = scene.agent(scene.plan(scene.step("s1", "work.wipe")), **QUICK)
    late = scene.agent(scene.plan(scene.step("s1", "work.read")), "read it", **QUICK)
    await first.aenqueue("Wipe", thread_id=scene.thread)
    run_for = late.door.arrivals.run_for

    async def run_for_after_the_other(*args: Any) -> Any:
        await first.ainvoke(None, scene.config)  # to its gate
        return await run_for(*args)

    monkeypatch.setattr(late.door.arrivals, "run_for", run_for_after_the_other)
    with pytest.raises(RunHeld, match="was worked on by another process in this moment"):
        await late.ainvoke(None, scene.config)
    assert scene.rows("SELECT status, lease_token FROM runs") == [{"status": "waiting", "lease_token": 1}]
    assert types(scene).count("plan_created") == 1


async def test_a_full_queue_refuses_and_writes_nothing_down(scene: Scene) -> None:
    agent = scene.agent(queue={"capacity": 2})
    for _ in range(2):
        await agent.aenqueue("Read")
    with pytest.raises(QueueFull, match=r"2 runs are queued, and queue\.capacity allows 2"):
        await agent.aenqueue("Read")
    assert len(scene.rows("SELECT 1 FROM runs")) == len(scene.rows("SELECT 1 FROM sessions")) == 2


async def test_a_thread_has_one_run_at_a_time(scene: Scene) -> None:
    agent = scene.agent()
    await agent.aenqueue("Read", thread_id=scene.thread)
    with pytest.raises(RunError, match="has not ended"):
        await agent.aenqueue("Read more", thread_id=scene.thread)


async def test_no_more_runs_are_at_work_at_once_than_may_be(
    scene: Scene, door: Door, at_work: AtWork
) -> None:
    plan = scene.plan(scene.step("s1", "door.pass"))
    replies = [plan] * 6  # answers, too: whose turn it is, nobody knows
    settings = {"queue": {"look_s": 0.01, "max_concurrent": 2}}
    agent = scene.agent(*replies, capabilities=[door.capability], **settings)
    for _ in range(3):
        await agent.aenqueue("Pass")
    async with at_work(agent):
        await eventually(lambda: len(door.begun) == 2)
        rows = scene.rows("SELECT status, count(*) AS n FROM runs GROUP BY status ORDER BY status")
        assert rows == [{"status": "queued", "n": 1}, {"status": "running", "n": 2}]
        door.open.set()
        await until(scene, "completed")
    assert len(door.ended) == 3


async def test_one_look_serves_for_all_that_it_saw(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = scene.plan(scene.step("s1", "work.read"))
    settings = {"queue": {"look_s": PATIENCE_S, "max_concurrent": 1}}
    agent = scene.agent(*[plan, "read it"] * 4, **settings)
    for _ in range(4):
        await agent.aenqueue("Read")
    looks, runnable = list[int](), agent.stores.queue.runnable

    async def counted() -> list[Run]:
        rows = await runnable()
        looks.append(len(rows))
        return rows

    monkeypatch.setattr(agent.stores.queue, "runnable", counted)
    await Worker(agent).run(until_idle=True)
    assert scene.rows("SELECT status, count(*) AS n FROM runs GROUP BY 1") == [
        {"status": "completed", "n": 4}
    ]
    assert set(looks) == {4, 0}  # both ask, the watchdog and the worker


async def test_what_another_did_since_the_look_is_left_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"queue": {"look_s": PATIENCE_S, "max_concurrent": 1}}
    first = scene.agent(scene.plan(scene.step("s1", "work.read")), "read it", **settings)
    late = scene.agent(**settings)  # its model has nothing to say
    await first.aenqueue("Read", thread_id=scene.thread)
    stale = await late.stores.queue.runnable()
    await first.ainvoke(None, scene.config)
    runnable, answers = late.stores.queue.runnable, iter([stale, stale])

    async def old_then_new() -> list[Run]:
        return next(answers, None) or await runnable()

    monkeypatch.setattr(late.stores.queue, "runnable", old_then_new)
    await Worker(late).run(until_idle=True)
    assert scene.rows("SELECT status, lease_token FROM runs") == [{"status": "completed", "lease_token": 1}]
    assert next(answers, None) is None


async def test_a_paused_run_ends_what_it_has_begun_and_begins_nothing_more(
    scene: Scene, door: Door, at_work: AtWork
) -> None:
    agent = through_doors(scene, door, (), ("s1",), ("s1",))
    await agent.aenqueue("Pass three doors", thread_id=scene.thread)
    async with at_work(agent):
        await asyncio.wait_for(door.reached.wait(), PATIENCE_S)
        assert await agent.apause(scene.thread, by="ann") is False
        await drained(agent)
        door.open.set()
        assert await until(scene, "paused") == ["paused"]
        assert door.ended == ["s1"]
        row = {"paused_for": "paused by ann", "pause_by": None, "lease_until": 0}
        await eventually(lambda: scene.rows("SELECT paused_for, pause_by, lease_until FROM runs") == [row])
        await agent.stores.sessions.resume(scene.thread, "ann")
        assert await until(scene, "completed") == ["completed"]
    assert sorted(door.ended) == ["s1", "s2", "s3"]
    told = [kind for kind in types(scene) if kind.startswith("session")]
    assert told == ["session_paused", "session_resumed"]


async def test_a_worker_that_is_stopped_hands_over_and_another_one_finishes(
    scene: Scene, door: Door, at_work: AtWork
) -> None:
    agent = through_doors(scene, door, (), ("s1",))
    await agent.aenqueue("Pass two doors", thread_id=scene.thread)
    worker = Worker(agent)
    working = asyncio.create_task(worker.run())
    await asyncio.wait_for(door.reached.wait(), PATIENCE_S)
    worker.stop()
    await drained(agent)
    door.open.set()
    await asyncio.wait_for(working, PATIENCE_S)
    assert scene.rows("SELECT status, lease_until FROM runs") == [{"status": "queued", "lease_until": 0}]
    assert door.ended == ["s1"]
    async with at_work(agent):
        await until(scene, "completed")
    assert door.ended == ["s1", "s2"]


async def test_a_loop_stops_between_two_turns(scene: Scene, door: Door, at_work: AtWork) -> None:
    replies: list[str | dict[str, Any]] = [
        scene.calls(("door__pass", {"name": "a"})),
        scene.calls(("door__pass", {"name": "b"})),
        "both",
    ]
    agent = scene.agent(*replies, capabilities=[door.capability], planning={"mode": "never"}, **QUICK)
    await agent.aenqueue("Pass doors", thread_id=scene.thread)
    worker = Worker(agent)
    working = asyncio.create_task(worker.run())
    await asyncio.wait_for(door.reached.wait(), PATIENCE_S)
    worker.stop()
    await drained(agent)
    door.open.set()
    await asyncio.wait_for(working, PATIENCE_S)
    assert (door.ended, scene.rows("SELECT status FROM runs")) == (["a"], [{"status": "queued"}])
    async with at_work(agent):
        await until(scene, "completed")
    assert door.ended == ["a", "b"]
    assert len(scene.rows("SELECT 1 FROM journal WHERE type = 'llm_call'")) == 3


async def test_a_run_at_a_gate_goes_on_once_somebody_has_decided(scene: Scene, at_work: AtWork) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.wipe")), "wiped", **QUICK)
    await agent.aenqueue("Wipe", thread_id=scene.thread)
    async with at_work(agent):
        for _ in ("the plan", "its destructive step"):
            await eventually(lambda: bool(scene.rows(OPEN)))  # nobody works on the run any more
            for row in scene.rows(OPEN):
                await _approve(agent, row["gate_id"])
        await until(scene, "completed")
    assert scene.done == ["s1"]


async def _approve(agent: Agent, gate_id: str) -> None:
    decision = Decision(answer="approve", decided_by="ann", channel="test")
    await agent.stores.gates.decide(gate_id, decision, agent.door.clock())


async def test_a_gate_closes_with_its_session_and_no_worker_is_needed(scene: Scene, at_work: AtWork) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.wipe")), **QUICK)
    await agent.aenqueue("Wipe", thread_id=scene.thread, ttl_s=3600)
    async with at_work(agent):
        await until(scene, "waiting")
    both = "SELECT s.expires_at, gate_id, g.expires_at AS closes FROM sessions s JOIN gates g USING (run_id)"
    for hours in (1, 3):
        (row,) = scene.rows(both)
        ends, closes = (datetime.fromisoformat(row[name]) for name in ("expires_at", "closes"))
        assert abs((closes - ends).total_seconds()) < 1
        assert timedelta(hours=hours - 0.5) < ends - agent.door.clock() < timedelta(hours=hours)
        await agent.stores.sessions.extend(scene.thread, {"ttl_s": 7200}, "ann")
    query = "UPDATE sessions SET closes_s = 0"
    await agent.stores.database.run("test", lambda c: c.execute(query).rowcount)
    with pytest.raises(GateError, match="is decided"):
        await agent.ainvoke(Command(resume={"type": "approve", "gate_id": row["gate_id"]}), scene.config)
    output = await agent.ainvoke(None, scene.config)
    assert (output["status"], scene.done) == ("expired", [])


@pytest.mark.parametrize("at_gate", [False, True], ids=["queued", "at its gate"])
async def test_a_session_whose_time_is_up_expires(scene: Scene, at_work: AtWork, at_gate: bool) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.wipe")), **QUICK)
    await agent.aenqueue("Wipe", thread_id=scene.thread, ttl_s=None if at_gate else 1e-9)
    async with at_work(agent):
        if at_gate:
            await until(scene, "waiting")
            query = "UPDATE sessions SET closes_s = 0"
            await agent.stores.database.run("test", lambda c: c.execute(query).rowcount)
        assert await until(scene, "expired") == ["expired"]
    assert scene.done == []
    assert scene.rows("SELECT 1 FROM gates WHERE status = 'open'") == []
    assert types(scene)[-2:] == ["task_failed", "run_end"]


@pytest.mark.sqlite
@pytest.mark.parametrize("at_gate", [False, True], ids=["in the queue", "at its gate"])
async def test_a_store_with_a_session_that_expired_is_whole(
    scene: Scene, at_work: AtWork, at_gate: bool
) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.wipe")), **QUICK)
    await agent.aenqueue("Wipe", thread_id=scene.thread, ttl_s=None if at_gate else 1e-9)
    async with at_work(agent):
        if at_gate:
            await until(scene, "waiting")
            query = "UPDATE sessions SET closes_s = 0"
            await agent.stores.database.run("test", lambda c: c.execute(query).rowcount)
        await until(scene, "expired")
    assert check_store(scene.workspace / ".planwright") == []


async def test_who_goes_on_with_what_ended_in_the_queue_is_told_so(scene: Scene, at_work: AtWork) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "read it", **QUICK)
    await agent.aenqueue("Wipe", thread_id=scene.thread, ttl_s=1e-9)
    async with at_work(agent):
        await until(scene, "expired")
    with pytest.raises(RunError, match=r"has ended \(expired\), and nothing of it is on its thread"):
        await agent.ainvoke(None, scene.config)
    again = await agent.ainvoke({"messages": [("user", "Read")]}, scene.config)
    assert again["status"] == "completed"


async def test_what_takes_too_long_ends_as_timeout(
    scene: Scene, door: Door, at_work: AtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [scene.step("s1", "door.pass"), scene.step("s2", "door.pass", "s1")]
    settings = {"queue": {"look_s": 0.01, "max_execution_time_s": 3600}}
    agent = scene.agent(scene.plan(*steps), capabilities=[door.capability], **settings)
    await agent.aenqueue("Pass", thread_id=scene.thread)
    async with at_work(agent):
        await asyncio.wait_for(door.reached.wait(), PATIENCE_S)
        monkeypatch.setattr(Invocation, "worked_s", property(lambda _: 3601.0))
        await eventually(lambda: any(each.cancelled_by for each in agent.door.working.values()))
        door.open.set()
        assert await until(scene, "timeout") == ["timeout"]
    assert door.ended == ["s1"]


async def test_more_budget_is_seen_while_a_run_is_worked_on(
    scene: Scene, door: Door, at_work: AtWork
) -> None:
    agent = through_doors(scene, door, ())
    await agent.aenqueue("Pass", thread_id=scene.thread)
    async with at_work(agent):
        await asyncio.wait_for(door.reached.wait(), PATIENCE_S)
        (invocation,) = agent.door.working.values()
        before = invocation.profile.limits.tokens or 0
        await agent.stores.sessions.extend(scene.thread, {"tokens": 500, "cost": 1}, "ann")
        await eventually(lambda: invocation.profile.limits.tokens == before + 500)
        door.open.set()
        await until(scene, "completed")
    assert "session_extended" in types(scene)


async def test_a_run_that_needs_what_this_process_lacks_is_paused_with_the_reason(
    scene: Scene, door: Door, at_work: AtWork
) -> None:
    await through_doors(scene, door, ()).aenqueue("Pass", thread_id=scene.thread)
    elsewhere = scene.agent(**QUICK)
    async with at_work(elsewhere):
        await until(scene, "paused")
    (row,) = scene.rows("SELECT paused_for FROM runs")
    assert "door.pass" in row["paused_for"]


async def test_a_decided_run_that_needs_what_this_process_lacks_is_taken_up_once_in_a_while(
    scene: Scene, at_work: AtWork
) -> None:
    @capability("door.lock", mode="destructive", effect="idempotent")
    async def lock(name: str) -> str:
        """Lock a door."""
        return name

    agent = scene.agent(scene.plan(scene.step("s1", "door.lock")), capabilities=[lock], **QUICK)
    await agent.aenqueue("Lock", thread_id=scene.thread)
    async with at_work(agent):
        await eventually(lambda: bool(scene.rows(OPEN)))
    for row in scene.rows(OPEN):
        await _approve(agent, row["gate_id"])
    async with at_work(scene.agent(**QUICK)):
        await eventually(lambda: scene.rows("SELECT 1 FROM runs WHERE lease_token > 1") != [])
        await asyncio.sleep(1)  # a hundred looks
    assert scene.rows("SELECT status, lease_token FROM runs") == [{"status": "waiting", "lease_token": 2}]


async def test_a_checkpoint_is_kept_of_every_verdict_and_is_never_changed(
    scene: Scene, at_work: AtWork
) -> None:
    agent = scene.agent(scene.plan(scene.step("s1", "work.read")), "read it", **QUICK)
    await agent.aenqueue("Read", thread_id=scene.thread)
    async with at_work(agent):
        await until(scene, "completed")
    (row,) = scene.rows("SELECT hash, content FROM session_checkpoints")
    content = json.loads(row["content"])
    assert (content["verdict"], content["next_step"], list(content["steps"].values())) == (
        "accept",
        None,
        ["completed"],
    )
    told = [event["data"]["hash"] for event in scene.journal() if event["type"] == "checkpoint"]
    assert told == [row["hash"]]
