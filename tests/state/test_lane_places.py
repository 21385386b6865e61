"""As many lanes work as there are places; a lane that waits for its own lanes lends them its place."""

from __future__ import annotations

import asyncio

import pytest

from planwright.state.lane_places import LanePlaces
from tests.patience import PATIENCE_S


async def until_waiting(tasks: int = 20) -> None:
    """Let all that can go on do so."""
    for _ in range(tasks):
        await asyncio.sleep(0)


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_lanes_within_lanes_go_on_and_no_more_than_the_places_work(count: int) -> None:
    places, working, most, ended = LanePlaces(count), 0, 0, []

    async def lane(name: str, parent: str, depth: int) -> None:
        nonlocal working, most
        async with places.hold(name, parent):
            working += 1
            most = max(most, working)
            await until_waiting(3)
            working -= 1
            if depth:
                await asyncio.gather(*(lane(f"{name}.{n}", name, depth - 1) for n in range(3)))
            working += 1
            most = max(most, working)
            await until_waiting(2)
            working -= 1
        ended.append(name)

    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(lane(str(n), "main", 2) for n in range(4)))
    assert len(ended) == 4 * (1 + 3 + 9)
    assert most == count


async def test_a_lane_that_is_cancelled_while_it_waits_takes_no_place_along() -> None:
    places = LanePlaces(1)
    begun: list[str] = []

    async def lane(name: str) -> None:
        async with places.hold(name):
            begun.append(name)
            await asyncio.Event().wait()

    first, second = asyncio.create_task(lane("a")), asyncio.create_task(lane("b"))
    await until_waiting()
    second.cancel()
    first.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert begun == ["a"]
    async with asyncio.timeout(PATIENCE_S), places.hold("c"):
        pass


async def test_a_place_given_in_the_moment_of_a_cancel_comes_back() -> None:
    places = LanePlaces(1)

    async def lane(name: str) -> None:
        async with places.hold(name):
            await asyncio.sleep(0)

    async with places.hold("a"):
        waiting = asyncio.create_task(lane("b"))
        await until_waiting()
    waiting.cancel()  # it has got the place, and does not know yet
    await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(PATIENCE_S), places.hold("c"):
        pass


async def test_a_parent_that_ends_before_its_lanes_leaves_no_place_behind() -> None:
    places, go_on = LanePlaces(1), asyncio.Event()

    async def child() -> None:
        async with places.hold("child", "parent"):
            await go_on.wait()

    async with places.hold("parent"):
        task = asyncio.create_task(child())
        await until_waiting()
    go_on.set()
    await task
    async with asyncio.timeout(PATIENCE_S), places.hold("one"):
        waiting = asyncio.create_task(places.hold("two").__aenter__())
        await until_waiting()
        assert not waiting.done()
    async with asyncio.timeout(PATIENCE_S):
        await waiting
