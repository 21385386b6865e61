"""The clock of an event loop, moved on by a test: what waits for less than that is over, on any machine."""

from __future__ import annotations

import asyncio

FEWEST_STEPS, LONGEST_STEP_S = 100, 0.2


class LoopClock:
    """Move the clock of a loop; it runs on between two moves."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._ahead_s, runs = loop, 0.0, loop.time
        loop.time = lambda: runs() + self._ahead_s  # type: ignore[method-assign]

    def pass_(self, seconds: float) -> None:
        """Let time pass, from any thread: step by step, for what is late all at once is the loop itself."""
        steps = _steps(seconds)
        self._loop.call_soon_threadsafe(self._step, seconds / steps, steps)

    async def passed(self, seconds: float) -> None:
        """Let time pass, and wait until it has."""
        steps = _steps(seconds)
        for _ in range(steps):
            self._step(seconds / steps, 1)
            await asyncio.sleep(0)

    def jump(self, seconds: float) -> None:
        """Let the loop be late, as one that has too much to do."""
        self._ahead_s += seconds

    def _step(self, seconds: float, left: int) -> None:
        self._ahead_s += seconds
        if left > 1:
            self._loop.call_soon(self._step, seconds, left - 1)


def _steps(seconds: float) -> int:
    return max(FEWEST_STEPS, round(seconds / LONGEST_STEP_S))
