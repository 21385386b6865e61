"""The clock of an event loop, moved on by a test: what waits for less than that is over, on any machine."""

from __future__ import annotations

import asyncio

STEPS = 500


class LoopClock:
    """Move the clock of a loop; it runs on between two moves."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._ahead_s, runs = loop, 0.0, loop.time
        loop.time = lambda: runs() + self._ahead_s  # type: ignore[method-assign]

    def pass_(self, seconds: float) -> None:
        """Let time pass, from any thread: step by step, for what is late all at once is the loop itself."""
        self._loop.call_soon_threadsafe(self._step, seconds / STEPS, STEPS)

    async def passed(self, seconds: float) -> None:
        """Let time pass, and wait until it has."""
        for _ in range(STEPS):
            self._step(seconds / STEPS, 1)
            await asyncio.sleep(0)

    def jump(self, seconds: float) -> None:
        """Let the loop be late, as one that has too much to do."""
        self._ahead_s += seconds

    def _step(self, seconds: float, left: int) -> None:
        self._ahead_s += seconds
        if left > 1:
            self._loop.call_soon(self._step, seconds, left - 1)
