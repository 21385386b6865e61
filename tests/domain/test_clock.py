"""A limit of time counts while its event loop attends to what comes in, and not while that is late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from planwright.domain.clock import AttendedTimeout, heard
from tests.loop_clock import LoopClock


@pytest.fixture
async def clock() -> LoopClock:
    return LoopClock(asyncio.get_running_loop())


@asynccontextmanager
async def given_up() -> AsyncIterator[None]:
    """Expect that the block takes too long."""
    with pytest.raises(TimeoutError):
        yield


async def test_what_takes_too_long_is_given_up(clock: LoopClock) -> None:
    limit = AttendedTimeout(60)
    async with given_up(), limit:
        await clock.passed(40)
        assert not limit.expired()
        await clock.passed(40)
    assert limit.expired()
    assert not limit.silent()


@pytest.mark.parametrize("limit_s", [0.5, 60, 900])
async def test_a_loop_that_is_late_has_waited_for_nobody(clock: LoopClock, limit_s: float) -> None:
    limit = AttendedTimeout(limit_s)
    async with limit:
        for _ in range(5):
            clock.jump(10 * limit_s)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
    assert not limit.expired()


async def test_a_loop_that_is_always_late_gives_up_all_the_same(clock: LoopClock) -> None:
    async with given_up(), AttendedTimeout(60):
        while True:
            clock.jump(600)
            await asyncio.sleep(0)


async def test_silence_counts_from_the_last_sign_of_life(clock: LoopClock) -> None:
    limit = AttendedTimeout(900, idle_s=60)
    async with given_up(), limit:
        for _ in range(5):
            await clock.passed(40)
            await asyncio.create_task(hear())
        assert not limit.expired()
        await clock.passed(100)
    assert limit.silent()


async def hear() -> None:
    """Hear something, in a task that was begun within the limit."""
    heard()


async def test_who_is_never_silent_ends_as_well(clock: LoopClock) -> None:
    limit = AttendedTimeout(900, idle_s=60)
    async with given_up(), limit:
        while True:
            await clock.passed(30)
            heard()
    assert not limit.silent()


async def test_a_limit_can_be_lifted_and_tells_of_each_look(clock: LoopClock) -> None:
    looks: list[float] = []
    async with AttendedTimeout(10, looked=looks.append) as limit:
        await clock.passed(5)
        limit.lift()
        await clock.passed(100)
        before = looks[-1]
        limit.go_on()
        await clock.passed(4)
    assert looks[:2] == [0.2, 0.4]
    assert 4 < before < 5.5
    assert before < looks[-1] < 10


async def test_a_sign_of_life_is_one_for_all_limits_around(clock: LoopClock) -> None:
    async with AttendedTimeout(900, idle_s=60) as outer, AttendedTimeout(900):
        for _ in range(5):
            await clock.passed(40)
            heard()
    assert not outer.silent()
    heard()  # within no limit nobody cares
