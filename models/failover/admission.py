"""Who may be asked at once: calls of models wait for their turn before their time begins.

A provider that is asked a thousand things at once, or an event loop that has a thousand replies to hear,
answers all of them late. Waiting is of our own making: no limit of time and no breaker counts it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import Invocation

LOOK_S = 0.5
"""Seconds between two looks of a call that waits, whether it still is to be made."""


class Admission:
    """Let so many calls be under way at each provider at once, on one event loop; the first to come go first.

    `most` says how many that are.
    """

    def __init__(self, most: Callable[[ModelRoute], int]) -> None:
        self._most = most
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, asyncio.Semaphore]] = (
            WeakKeyDictionary()
        )

    @asynccontextmanager
    async def turn(self, route: ModelRoute, invocation: Invocation) -> AsyncIterator[None]:
        """Wait for a turn at the provider of a route, and hold it. Raises ModelCancelled while waiting."""
        on_loop = self._slots.setdefault(asyncio.get_running_loop(), {})
        slots = on_loop.setdefault(route.provider, asyncio.Semaphore(self._most(route)))
        if slots.locked():
            await _next_free(slots, invocation)
        else:
            await slots.acquire()  # at once
        try:
            yield
        finally:
            slots.release()


async def _next_free(slots: asyncio.Semaphore, invocation: Invocation) -> None:
    taking = asyncio.ensure_future(slots.acquire())
    try:
        with invocation.waiting():
            while not taking.done():
                await asyncio.wait({taking}, timeout=LOOK_S)
                invocation.check_wanted()
    except BaseException:
        if not taking.cancel():
            slots.release()
        raise
