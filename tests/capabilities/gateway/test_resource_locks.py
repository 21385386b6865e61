"""Nobody writes what somebody else is writing, whoever asks and gives up, and everybody has a turn."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planwright.capabilities.gateway.locks import ResourceLocks
from tests.patience import PATIENCE_S

KEYS = "abcd"
MANY = settings(max_examples=150, database=None, deadline=None)


async def passes(times: int = 3) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


@MANY
@given(
    callers=st.lists(
        st.tuples(
            st.sets(st.sampled_from(KEYS)),  # what it overwrites
            st.integers(0, 3),  # how long it waits before it asks
            st.integers(0, 3),  # how long it writes
            st.sampled_from((False, False, False, True)),  # whether it is cancelled on the way
        ),
        min_size=1,
        max_size=12,
    ),
    slots=st.sampled_from((1, 2, 8)),
)
def test_two_callers_never_hold_one_resource_and_all_of_them_end(
    callers: list[tuple[set[str], int, int, bool]], slots: int
) -> None:
    locks, held, most = ResourceLocks(), Counter[str](), Counter[str]()
    ended: list[int] = []

    async def call(number: int, semaphore: asyncio.Semaphore) -> None:
        keys, before, during, _ = callers[number]
        await passes(before)
        async with semaphore, locks.hold(keys):
            for key in keys:
                held[key] += 1
                most[key] = max(most[key], held[key])
            try:
                await passes(during)
            finally:
                held.subtract(keys)
        ended.append(number)

    async def play() -> None:
        semaphore = asyncio.Semaphore(slots)
        tasks = [asyncio.create_task(call(number, semaphore)) for number in range(len(callers))]
        await passes(2)
        for task, (_, _, _, cancelled) in zip(tasks, callers, strict=True):
            if cancelled:
                task.cancel()
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(PATIENCE_S), locks.hold(KEYS):  # nothing is left behind
            pass

    asyncio.run(play())
    assert max(most.values(), default=0) <= 1
    assert {n for n, (*_, cancelled) in enumerate(callers) if not cancelled} <= set(ended)


async def test_a_caller_with_other_resources_does_not_wait() -> None:
    locks = ResourceLocks()
    async with locks.hold("a"), asyncio.timeout(PATIENCE_S), locks.hold("b"), locks.hold(""):
        pass


async def test_turns_are_taken_in_the_order_of_asking() -> None:
    locks, order = ResourceLocks(), []

    async def call(name: str, keys: str) -> None:
        async with locks.hold(keys):
            order.append(name)
            await passes()

    async with asyncio.timeout(PATIENCE_S), locks.hold("a"):
        waiting = [asyncio.create_task(call(name, keys)) for name, keys in (("both", "ab"), ("b", "b"))]
        await passes()
        assert order == []  # the second may not overtake the first, which would wait for ever
    await asyncio.gather(*waiting)
    assert order == ["both", "b"]


async def test_one_who_gives_up_waiting_lets_the_next_go_on() -> None:
    locks = ResourceLocks()
    async with locks.hold("a"):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01), locks.hold("ab"):
                raise AssertionError("it was held")
        async with asyncio.timeout(PATIENCE_S), locks.hold("b"):
            pass


def test_locks_hold_over_event_loops() -> None:
    locks, seen = ResourceLocks(), []
    inside, asked = threading.Event(), threading.Event()

    async def first() -> None:
        async with locks.hold("a"):
            inside.set()
            await asyncio.to_thread(asked.wait, PATIENCE_S)
            await asyncio.sleep(0.02)
            seen.append("first")

    async def second() -> None:
        await asyncio.to_thread(inside.wait, PATIENCE_S)
        asked.set()
        async with asyncio.timeout(PATIENCE_S), locks.hold("a"):
            seen.append("second")

    threads = [threading.Thread(target=asyncio.run, args=(way(),)) for way in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert seen == ["first", "second"]
