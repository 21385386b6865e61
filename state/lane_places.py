"""Places for the lanes of one invocation: so many of them work at the same time, and no more.

A lane that opens others waits for them. While it does, its own place is theirs, one after another: so lanes
within lanes always go on, even where there is one place in all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

_SHARED = ""  # the lender of a place that no lane lends


@dataclass(frozen=True, eq=False)
class _Waiting:
    """A lane that waits for a place; `turn` gets the lender of the place."""

    parent: str
    """Lane that opened it and may lend its place; "" for none."""
    turn: asyncio.Future[str]
    """Gets the lender of the place when the lane may begin."""


class LanePlaces:
    """Who has a place, and who waits for one, in the order of asking."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._lends: dict[str, bool] = {}  # by lane that has a place: whether nobody uses it meanwhile
        self._waiting: list[_Waiting] = []

    @asynccontextmanager
    async def hold(self, lane: str, parent: str = "") -> AsyncIterator[None]:
        """Wait for a place for a lane, which may be the one of its parent, and keep it."""
        waiting = _Waiting(parent, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._give()
        try:
            lender = await waiting.turn
        except asyncio.CancelledError:
            self._leave(waiting)
            raise
        self._lends[lane] = True
        try:
            yield
        finally:
            del self._lends[lane]
            self._take_back(lender)

    def _leave(self, waiting: _Waiting) -> None:
        """Take a lane that was cancelled out of the row, or give back what it got in the same moment."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)
        elif not waiting.turn.cancelled():
            self._take_back(waiting.turn.result())

    def _take_back(self, lender: str) -> None:
        if lender == _SHARED:
            self._free += 1
        elif lender in self._lends:  # else it has ended before, and its place with it
            self._lends[lender] = True
        self._give()

    def _give(self) -> None:
        """Give what is free to those who wait, the place of a parent first."""
        for waiting in tuple(self._waiting):
            if self._lends.get(waiting.parent):
                self._lends[waiting.parent] = False
                lender = waiting.parent
            elif self._free:
                self._free -= 1
                lender = _SHARED
            else:
                continue
            self._waiting.remove(waiting)
            if waiting.turn.cancelled():
                self._take_back(lender)
            else:
                waiting.turn.set_result(lender)
