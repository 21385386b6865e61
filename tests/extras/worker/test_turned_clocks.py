"""A clock that is a week off, for a moment or for good, ends no session early and silences no schedule."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any

import pytest

from planwright.domain.errors import RunError
from planwright.extras.worker.schedules import Schedules
from planwright.extras.worker.watchdog import Watchdog
from planwright.graph.agent import Agent
from planwright.store.time_marks import LOOK_S, SETTLE_S
from tests.scenarios.conftest import Scene
from tests.turned_clock import Machine

HOUR = 3600
HOURLY: dict[str, Any] = {"hourly": {"cron": "0 * * * *", "request": "Read", "planning": "never"}}
STATUSES = "SELECT status FROM runs ORDER BY rowid"


@pytest.fixture
def machine() -> Machine:
    return Machine()


def opened(scene: Scene, machine: Machine, **settings: Any) -> Agent:
    """Open the workspace in a process that begins now."""
    return scene.agent("read it", clock=machine.clock, timer=machine.timer(), **settings)


async def look(agent: Agent) -> None:
    await Watchdog(agent).look(())


async def stand(agent: Agent, machine: Machine) -> None:
    """Let a worker look until the clock, where it stands, has to be believed."""
    for _ in range(int(SETTLE_S / LOOK_S) + 2):
        await look(agent)
        machine.pass_by(seconds=LOOK_S)


@pytest.mark.parametrize("days", [1, 7, -7])
@pytest.mark.parametrize("for_good", [False, True], ids=["for a moment", "for good"])
async def test_a_turned_clock_ends_no_session_early_and_none_late(
    scene: Scene, machine: Machine, days: int, for_good: bool
) -> None:
    agent = opened(scene, machine)
    await agent.aenqueue("Read", thread_id="t", ttl_s=HOUR)
    machine.pass_by(minutes=5)
    machine.turn(days=days)
    await look(agent)
    if for_good:
        await stand(agent, machine)
    else:
        machine.turn(days=-days)
    await look(agent)
    assert scene.rows(STATUSES) == [{"status": "queued"}]
    machine.pass_by(hours=1)
    await look(agent)
    assert scene.rows(STATUSES) == [{"status": "expired"}]


async def test_a_clock_that_is_ahead_for_a_moment_after_a_start_ends_no_session(
    scene: Scene, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    agent = opened(scene, machine)
    await agent.aenqueue("Read", thread_id="t", ttl_s=HOUR)
    machine.start_again(minutes=5)
    machine.turn(days=1)
    after = opened(scene, machine)
    with caplog.at_level(logging.WARNING):
        await look(after)
    assert "this machine, or whoever used the store, was off for 1 day, 0:0" in caplog.text
    machine.turn(days=-1)
    await stand(after, machine)
    assert scene.rows(STATUSES) == [{"status": "queued"}]


async def test_what_is_open_expires_after_a_machine_was_off_for_a_week_once_its_clock_has_stood(
    scene: Scene, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    agent = opened(scene, machine)
    await agent.aenqueue("Read", thread_id="old", ttl_s=HOUR)
    machine.start_again(days=7)
    after = opened(scene, machine)
    await look(after)
    await after.aenqueue("Read", thread_id="new", ttl_s=HOUR)
    assert [run.thread_id for run in await after.stores.queue.runnable()] == ["new"]
    with pytest.raises(RunError, match="has expired if this machine was off for as long as its clock says"):
        await after.ainvoke(None, {"configurable": {"thread_id": "old"}})
    with caplog.at_level(logging.WARNING):
        await stand(after, machine)
        await look(after)
    assert scene.rows(STATUSES) == [{"status": "expired"}, {"status": "queued"}]
    assert "was off for 6 days, 23:5" in caplog.text


async def test_what_a_person_is_shown_moves_with_a_clock_that_is_set_for_good(
    scene: Scene, machine: Machine
) -> None:
    agent = opened(scene, machine)
    await agent.aenqueue("Read", thread_id="t", ttl_s=5 * HOUR)
    machine.turn(days=7)
    await stand(agent, machine)
    await look(agent)
    (row,) = scene.rows("SELECT expires_at FROM sessions")
    left = datetime.fromisoformat(row["expires_at"]) - machine.clock()
    assert timedelta(hours=4.7) < left < timedelta(hours=5)


async def hours_kept(scene: Scene, agent: Agent, machine: Machine, schedules: Schedules, hours: int) -> int:
    """Let some hours go by while a worker keeps its schedules; count the runs that it queues."""
    before = len(scene.rows(STATUSES))
    for _ in range(hours * 6):
        machine.pass_by(minutes=10)
        await schedules.queue_due()
        for run in await agent.stores.queue.runnable():
            await agent.ainvoke(None, {"configurable": {"thread_id": run.thread_id}})
    return len(scene.rows(STATUSES)) - before


@pytest.mark.long
@pytest.mark.parametrize("turn_hours", [24, 7 * 24, -7 * 24, 5.5, -5.5])
@pytest.mark.parametrize("for_good", [False, True], ids=["for a moment", "for good"])
async def test_no_schedule_is_silent_after_a_clock_was_turned(
    scene: Scene, machine: Machine, caplog: pytest.LogCaptureFixture, turn_hours: float, for_good: bool
) -> None:
    agent = opened(scene, machine, schedules=HOURLY)
    schedules = Schedules(agent)
    await schedules.queue_due()
    assert await hours_kept(scene, agent, machine, schedules, 2) == 2
    machine.turn(hours=turn_hours)
    machine.pass_by(seconds=LOOK_S)
    with caplog.at_level(logging.WARNING):
        await schedules.queue_due()
        if for_good:
            assert await hours_kept(scene, agent, machine, schedules, 2) in (2, 3)
            assert "the time of the store is set" in caplog.text
        machine.turn(hours=-turn_hours)
        assert await hours_kept(scene, agent, machine, schedules, 6) in (6, 7)
    assert "is not believed" in caplog.text
    if for_good and turn_hours > 0:
        assert "schedule hourly was kept up to" in caplog.text
