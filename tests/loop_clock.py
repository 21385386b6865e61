"""The clock of an event loop, moved on by a test: what waits for less than that is over, on any machine."""

from __future__ import annotations

import asyncio


class LoopClock:
    """Move the clock of a loop; it runs on between two moves."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._ahead_s, runs = loop, 0.0, loop.time
        loop.time = lambda: runs() + self._ahead_s  # type: ignore[method-assign]

    def pass_(self, seconds: float) -> None:
        """Let time pass, from any thread."""
        self._ahead_s += seconds
        self._loop.call_soon_threadsafe(lambda: None)  # it may be waiting for what is over now
