"""Schedules: when a request is queued, by how many workers, and what of missed times is made up for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from planwright.domain.errors import SetupError
from planwright.extras.worker.schedules import Schedules
from planwright.graph.agent import Agent
from planwright.settings.settings import load
from planwright.settings.workspace import ScheduleSettings
from tests.scenarios.conftest import Scene

NOON = datetime(2026, 11, 24, 12, 0, 30, tzinfo=UTC)
HOURLY: dict[str, Any] = {
    "schedules": {"hourly": {"cron": "0 * * * *", "request": "Read", "planning": "never"}}
}


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def scheduled(scene: Scene, clock: Clock, **settings: Any) -> Agent:
    return scene.agent("done", clock=clock, **{**HOURLY, **settings})


def runs(scene: Scene) -> list[dict[str, Any]]:
    return scene.rows("SELECT r.request, s.schedule FROM runs r JOIN sessions s USING (run_id)")


async def end_all(agent: Agent) -> None:
    for run in await agent.stores.queue.runnable():
        await agent.ainvoke(None, {"configurable": {"thread_id": run.thread_id}})


async def test_a_request_is_queued_when_its_time_comes_and_once(scene: Scene, clock: Clock) -> None:
    agent = scheduled(scene, clock)
    first, second = Schedules(agent), Schedules(agent)
    await first.queue_due()
    assert runs(scene) == []
    clock.now += timedelta(hours=1)
    for schedules in (first, second, first):
        await schedules.queue_due()
    assert runs(scene) == [{"request": "Read", "schedule": "hourly"}]


async def test_a_time_is_left_out_while_the_last_run_goes_on(scene: Scene, clock: Clock) -> None:
    agent = scheduled(scene, clock)
    schedules = Schedules(agent)
    for _ in range(2):
        clock.now += timedelta(hours=1)
        await schedules.queue_due()
    assert len(runs(scene)) == 1
    await end_all(agent)
    clock.now += timedelta(hours=1)
    await schedules.queue_due()
    assert len(runs(scene)) == 2


async def test_of_missed_times_the_newest_is_made_up_for_where_it_was_kept_before(
    scene: Scene, clock: Clock
) -> None:
    agent = scheduled(scene, clock)
    schedules = Schedules(agent)
    clock.now += timedelta(hours=1)
    await schedules.queue_due()
    await end_all(agent)
    clock.now += timedelta(hours=5, minutes=10)
    await Schedules(agent).queue_due()
    rows = scene.rows("SELECT due FROM schedule_runs ORDER BY due")
    assert [row["due"][11:16] for row in rows] == ["13:00", "18:00"]


async def test_a_full_queue_leaves_the_time_out(scene: Scene, clock: Clock) -> None:
    agent = scheduled(scene, clock, queue={"capacity": 1})
    await agent.aenqueue("Something else")
    schedules = Schedules(agent)
    clock.now += timedelta(hours=1)
    await schedules.queue_due()
    assert [row["schedule"] for row in runs(scene)] == [None]


@pytest.mark.parametrize(
    ("timezone", "cron", "night", "minutes"),
    [
        ("Europe/Berlin", "*/30 * * * *", "2026-10-24T23:45:00+00:00", [30] * 8),
        ("America/New_York", "*/30 * * * *", "2026-11-01T04:45:00+00:00", [30] * 8),
        ("Australia/Lord_Howe", "*/15 * * * *", "2026-04-04T13:50:00+00:00", [15] * 16),
        ("Europe/Berlin", "0 * * * *", "2026-03-28T22:30:00+00:00", [60] * 4),
    ],
)
def test_no_time_comes_early_or_is_lost_when_the_clocks_change(
    timezone: str, cron: str, night: str, minutes: list[int]
) -> None:
    """Each minute of a night the newest time is looked for, as workers do."""
    schedule = ScheduleSettings(cron=cron, request="Read", timezone=timezone)
    times: list[datetime] = []
    for minute in range(sum(minutes) + minutes[0]):
        now = datetime.fromisoformat(night) + timedelta(minutes=minute)
        newest = schedule.newest_before(now)
        assert newest is not None
        assert newest <= now
        times += [] if newest in times else [newest]
    assert [(b - a) / timedelta(minutes=1) for a, b in pairwise(times)][: len(minutes)] == minutes


@pytest.mark.parametrize(
    ("cron", "timezone", "now", "expected"),
    [
        ("0 7 * * *", "UTC", "2026-11-24T07:00:00+00:00", "2026-11-24T07:00:00+00:00"),
        ("0 7 * * *", "UTC", "2026-11-24T06:59:59+00:00", "2026-11-23T07:00:00+00:00"),
        ("30 9 * * 1-5", "Europe/Berlin", "2026-11-24T08:31:00+00:00", "2026-11-24T08:30:00+00:00"),
        ("30 9 * * 1-5", "Europe/Berlin", "2026-06-24T08:31:00+00:00", "2026-06-24T07:30:00+00:00"),
    ],
)
def test_the_newest_time_is_that_of_the_time_zone(cron: str, timezone: str, now: str, expected: str) -> None:
    schedule = ScheduleSettings(cron=cron, request="Read", timezone=timezone)
    assert schedule.newest_before(datetime.fromisoformat(now)) == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"cron": "61 * * * *"}, "is no cron expression"),
        ({"timezone": "Mars/Olympus"}, "there is no time zone"),
    ],
)
def test_what_is_no_time_is_refused_with_its_place(
    scene: Scene, change: dict[str, str], complaint: str
) -> None:
    schedule = {"cron": "0 7 * * *", "request": "Read", **change}
    with pytest.raises(SetupError, match=complaint):
        load(scene.workspace, schedules={"daily": schedule})
