"""A worker removes what settings keep no longer, once a day, and nothing that is at work."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planwright.domain.errors import StoreFailed
from planwright.graph.agent import Agent
from tests.extras.worker.conftest import AtWork, eventually, until
from tests.scenarios.conftest import Scene

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Calendar:
    """A clock that is put forward by hand."""

    now = START

    def __call__(self) -> datetime:
        return self.now


def kept(scene: Scene, thread: str) -> int:
    query = "SELECT count(*) AS n FROM checkpoints WHERE thread_id = ?"
    return int(scene.rows(query, thread)[0]["n"])


def opened(scene: Scene, calendar: Calendar, **storage: Any) -> Agent:
    plan = scene.plan(scene.step("s1", "work.read"))
    replies = [plan, "read it"] * 4
    return scene.agent(*replies, clock=calendar, queue={"look_s": 0.01}, storage=storage)


async def ended(scene: Scene, agent: Agent, at_work: AtWork, thread: str) -> None:
    await agent.aenqueue("Read", thread_id=thread)
    async with at_work(agent):
        await until(scene, "completed")
    assert kept(scene, thread) > 1


async def test_a_worker_prunes_at_its_first_look_and_again_after_a_day(scene: Scene, at_work: AtWork) -> None:
    calendar = Calendar()
    agent = opened(scene, calendar, keep_days=2)
    await ended(scene, agent, at_work, "old")
    calendar.now += timedelta(days=1.5)
    await ended(scene, agent, at_work, "later")
    calendar.now += timedelta(days=1)
    async with at_work(agent):
        await eventually(lambda: kept(scene, "old") == 1)
        assert kept(scene, "later") > 1
        calendar.now += timedelta(hours=23)  # "later" is past its two days, and it is not looked at yet
        await agent.aenqueue("Read", thread_id="third")
        await eventually(lambda: scene.rows("SELECT 1 AS n FROM runs WHERE ended_at IS NULL") == [])
        assert kept(scene, "later") > 1
        calendar.now += timedelta(hours=2)
        await eventually(lambda: kept(scene, "later") == 1)
    assert kept(scene, "third") > 1
    assert (await agent.aget_state({"configurable": {"thread_id": "old"}})).values["answer"] == "read it"


async def test_a_clock_that_was_ahead_for_one_look_stops_no_pruning(scene: Scene, at_work: AtWork) -> None:
    calendar = Calendar()
    agent = opened(scene, calendar, keep_days=2)
    await ended(scene, agent, at_work, "old")
    calendar.now += timedelta(days=365)
    async with at_work(agent):
        await eventually(lambda: kept(scene, "old") == 1)
        calendar.now -= timedelta(days=365)
        await agent.aenqueue("Read", thread_id="later")
        await eventually(lambda: scene.rows("SELECT 1 AS n FROM runs WHERE ended_at IS NULL") == [])
        assert kept(scene, "later") > 1
        calendar.now += timedelta(days=3)
        await eventually(lambda: kept(scene, "later") == 1)


async def test_without_days_a_worker_prunes_nothing(scene: Scene, at_work: AtWork) -> None:
    calendar = Calendar()
    agent = opened(scene, calendar)
    await ended(scene, agent, at_work, "old")
    calendar.now += timedelta(days=1000)
    await ended(scene, agent, at_work, "new")
    assert kept(scene, "old") > 1


async def test_days_of_one_tenant_are_for_that_tenant(scene: Scene, at_work: AtWork) -> None:
    calendar = Calendar()
    agent = opened(scene, calendar, tenants={"default": {"keep_days": 1}})
    await ended(scene, agent, at_work, "old")
    calendar.now += timedelta(days=2)
    async with at_work(agent):
        await eventually(lambda: kept(scene, "old") == 1)


async def test_a_worker_goes_on_where_its_store_cannot_be_pruned(
    scene: Scene, at_work: AtWork, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    agent = opened(scene, Calendar(), keep_days=1)

    async def full(*_: object) -> int:
        raise StoreFailed("the disk is full", "make room")

    monkeypatch.setattr("planwright.extras.worker.pruning.prune_in_use", full)
    await agent.aenqueue("Read", thread_id="one")
    async with at_work(agent):
        await until(scene, "completed")
    assert "it is pruned tomorrow: the disk is full" in caplog.text
