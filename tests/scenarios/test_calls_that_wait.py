"""A call that waits for its turn, or for its next attempt: what has changed by then is heeded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityUnavailable, LeaseLost
from planwright.domain.risk import Effect
from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.graph.entry import watching
from planwright.records.consent.delegations import Delegations, Period, Reach
from planwright.settings.settings import load
from tests.extras.worker.conftest import drained, eventually
from tests.extras.worker.door import Door
from tests.patience import PATIENCE_S
from tests.scenarios.conftest import Scene

BuildAgent = Callable[..., Agent]


def shelf(door: Door, mode: Any) -> Capability:
    """A capability that stands still in its call, and keeps all others away from one shelf."""

    @capability("shelf.fill", mode=mode, effect="idempotent", trusted_result=True, writes=("shelf",))
    async def fill(name: str) -> str:
        """Put something on the shelf."""
        door.begun.append(name)
        await asyncio.wait_for(door.open.wait(), PATIENCE_S)
        return name

    return fill


@pytest.fixture
def door() -> Door:
    """A closed door."""
    return Door()


@pytest.fixture
def two_calls(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> BuildAgent:
    """Build an agent whose model makes two calls in one reply, of which the second waits for the first."""
    monkeypatch.setattr(watching, "LOOK_S", 0.01)

    def build(one: Capability) -> Agent:
        reply = scene.calls(("shelf__fill", {"name": "a"}), ("shelf__fill", {"name": "b"}))
        more: dict[str, Any] = {"approval": {"plan": "never"}, "queue": {"look_s": 0.01}}
        return scene.agent(reply, "done", capabilities=[one], planning={"mode": "never"}, **more)

    return build


async def one_waits(agent: Agent, door: Door, scene: Scene) -> asyncio.Task[dict[str, Any]]:
    """Send the request, and wait until one call is in the middle, and the other waits for it."""
    run = asyncio.create_task(agent.ainvoke({"messages": [("user", "Fill it")]}, scene.config))
    await eventually(lambda: bool(door.begun))
    await asyncio.sleep(0.1)
    return run


def delegate(scene: Scene) -> tuple[Delegations, str]:
    """Delegate what the shelf can do; return the delegations, and the name of this one."""
    now = datetime.now(UTC)
    delegations = Delegations(load(scene.workspace).store_folder)
    period = Period(now - timedelta(days=1), now + timedelta(days=1))
    return delegations, delegations.issue(Reach(("shelf.*",)), "High", "ada", period).id


async def test_what_is_revoked_while_a_call_waits_is_not_made(
    scene: Scene, door: Door, two_calls: BuildAgent
) -> None:
    delegations, token = delegate(scene)
    run = await one_waits(two_calls(shelf(door, "delegated")), door, scene)
    delegations.revoke(token)
    door.open.set()
    await asyncio.wait_for(run, PATIENCE_S)
    assert len(door.begun) == 1
    rows = scene.rows("SELECT status, result FROM steps ORDER BY status")
    assert [row["status"] for row in rows] == ["completed", "failed"]
    assert "nobody delegates it any more" in rows[1]["result"]


async def test_a_call_that_waits_in_a_cancelled_run_is_skipped(
    scene: Scene, door: Door, two_calls: BuildAgent
) -> None:
    agent = two_calls(shelf(door, "local_write"))
    run = await one_waits(agent, door, scene)
    await agent.acancel(scene.thread, by="ada")
    await eventually(lambda: any(each.cancelled_by for each in agent.door.working.values()))
    door.open.set()
    out = await asyncio.wait_for(run, PATIENCE_S)
    assert (out["status"], len(door.begun)) == ("cancelled", 1)
    assert scene.rows("SELECT status FROM steps") == [{"status": "completed"}]
    assert [row["status"] for row in scene.rows("SELECT status FROM effects")] == ["done"]


async def test_a_call_that_waits_while_its_worker_stops_is_left_to_the_next(
    scene: Scene, door: Door, two_calls: BuildAgent
) -> None:
    agent = two_calls(shelf(door, "local_write"))
    await agent.aenqueue("Fill it", thread_id=scene.thread)
    worker = Worker(agent)
    working = asyncio.create_task(worker.run())
    await eventually(lambda: bool(door.begun))
    await asyncio.sleep(0.1)
    worker.stop()
    await drained(agent)
    door.open.set()
    await asyncio.wait_for(working, PATIENCE_S)
    assert (scene.rows("SELECT status FROM runs"), len(door.begun)) == ([{"status": "queued"}], 1)
    await Worker(agent).run(until_idle=True)
    assert scene.rows("SELECT status FROM runs") == [{"status": "completed"}]
    assert sorted(door.begun) == ["a", "b"]


async def test_a_step_that_waits_for_another_run_is_skipped_when_its_own_is_cancelled(
    scene: Scene, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LOOK_S", 0.01)
    plan, one = scene.plan(scene.step("s1", "shelf.fill")), shelf(door, "local_write")
    agent = scene.agent(plan, plan, "done", "done", capabilities=[one], approval={"plan": "never"})
    first = await one_waits(agent, door, scene)
    scene.thread = "another"
    second = await one_waits(agent, door, scene)
    await agent.acancel(scene.thread, by="ada")
    runs = agent.door.working
    await eventually(lambda: second.done() or any(each.cancelled_by for each in runs.values()))
    door.open.set()
    ends = [(await asyncio.wait_for(run, PATIENCE_S))["status"] for run in (first, second)]
    assert (ends, door.begun) == (["completed", "cancelled"], ["s1"])


def sometimes(effect: Effect, mode: Any, begun: Callable[[], None]) -> Capability:
    """A capability whose receiver takes nothing the first time, and cannot be asked for what it took."""

    def looked_up(name: str) -> str | None:
        return None

    lookup: dict[str, Any] = {"lookup": looked_up} if effect == "queryable" else {}

    @capability("shelf.fill", mode=mode, effect=effect, trusted_result=True, **lookup)
    def fill(name: str) -> str:
        """Put something on the shelf."""
        begun()
        raise CapabilityUnavailable("come back later")

    return fill


@pytest.mark.parametrize("effect", ["idempotent", "queryable", "blind"])
async def test_what_is_revoked_before_its_next_attempt_is_not_sent_again(
    scene: Scene, effect: Effect
) -> None:
    delegations, token = delegate(scene)
    begun: list[str] = []

    def revoke() -> None:
        begun.append("once")
        delegations.revoke(token)

    plan, one = scene.plan(scene.step("s1", "shelf.fill")), sometimes(effect, "delegated", revoke)
    agent = scene.agent(plan, "it failed", capabilities=[one], approval={"plan": "never"})
    await agent.ainvoke({"messages": [("user", "Fill it")]}, scene.config)
    assert begun == ["once"]
    (result,) = [row["result"] for row in scene.rows("SELECT result FROM steps")]
    assert "come back later; it is not sent again" in result
    assert scene.rows("SELECT status FROM effects") == [{"status": "failed"}]


@pytest.mark.parametrize("effect", ["pure", "idempotent", "blind"])
async def test_a_run_that_is_cancelled_in_the_pause_ends_so_and_nothing_is_sent_again(
    scene: Scene, effect: Effect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LOOK_S", 0.01)
    begun: list[str] = []
    plan = scene.plan(scene.step("s1", "shelf.fill"))
    mode = "read_only" if effect == "pure" else "local_write"
    one = sometimes(effect, mode, lambda: begun.append("once"))
    more: dict[str, Any] = {"approval": {"plan": "never"}, "execution": {"retry_base_ms": 1000}}
    agent = scene.agent(plan, "not asked", capabilities=[one], **more)
    run = asyncio.create_task(agent.ainvoke({"messages": [("user", "Fill it")]}, scene.config))
    retry = "SELECT 1 FROM journal WHERE type = 'plan_step_retry'"
    await eventually(lambda: bool(begun and scene.rows(retry)))
    await agent.acancel(scene.thread, by="ada")
    await asyncio.wait_for(run, PATIENCE_S)
    assert begun == ["once"]
    (result,) = [row["result"] for row in scene.rows("SELECT result FROM steps")]
    assert "cancelled by ada" in result
    assert scene.rows("SELECT status FROM steps") == [{"status": "skipped"}]
    assert scene.rows("SELECT status FROM runs") == [{"status": "cancelled"}]
    effects = scene.rows("SELECT status, code FROM effects")
    assert effects == ([] if effect == "pure" else [{"status": "failed", "code": "cancelled"}])


async def test_what_nobody_has_answered_stays_so_in_a_run_that_is_cancelled_in_the_pause(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "LOOK_S", 0.01)
    begun: list[str] = []

    @capability("shelf.fill", mode="local_write", effect="idempotent")
    def fill(name: str) -> str:
        """Put something on the shelf."""
        begun.append(name)
        raise ConnectionResetError("while it was answering")

    more: dict[str, Any] = {"approval": {"plan": "never"}, "execution": {"retry_base_ms": 1000}}
    agent = scene.agent(scene.plan(scene.step("s1", "shelf.fill")), "not asked", capabilities=[fill], **more)
    run = asyncio.create_task(agent.ainvoke({"messages": [("user", "Fill it")]}, scene.config))
    retry = "SELECT 1 FROM journal WHERE type = 'plan_step_retry'"
    await eventually(lambda: bool(begun and scene.rows(retry)))
    await agent.acancel(scene.thread, by="ada")
    await asyncio.wait_for(run, PATIENCE_S)
    (result,) = [row["result"] for row in scene.rows("SELECT result FROM steps")]
    assert "it is not sent again: cancelled by ada" in result
    assert scene.rows("SELECT code FROM effects") == [{"code": "unavailable"}]


async def test_nothing_waits_for_ever_in_a_process_whose_run_is_another_one_s(
    scene: Scene, two_calls: BuildAgent, door: Door
) -> None:
    agent = two_calls(shelf(door, "local_write"))
    run = await one_waits(agent, door, scene)
    (working,) = agent.door.working.values()
    newest = await agent.stores.runs.latest(working.thread_id)
    assert newest is not None
    await agent.stores.leases.take_over(newest)
    await eventually(lambda: working.control.drain_requested)  # what waits here would hear of no end there
    door.open.set()
    with pytest.raises(LeaseLost):
        await run
    assert door.begun == ["a"]
