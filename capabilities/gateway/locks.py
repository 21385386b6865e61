"""Locks on what calls overwrite, so that two calls of one agent never write one resource at once.

A call takes all its locks together or waits for all, in the order of asking: nobody holds one while
waiting for another, so there is no deadlock, and nobody is overtaken for ever. The locks hold over event
loops and threads; another process is not kept out.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass


@dataclass(eq=False)
class _Asking:
    """A call that asked for resources; `held` from the moment they are its own."""

    keys: frozenset[str]
    """Resources that the call asks for."""
    loop: asyncio.AbstractEventLoop
    """Event loop that the call waits in."""
    turn: asyncio.Future[None]
    """Done when the resources are the call's own."""
    held: bool = False
    """Whether they are its own by now."""


class ResourceLocks:
    """Who writes what now, and who waits."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._asking: list[_Asking] = []

    @asynccontextmanager
    async def hold(self, keys: Iterable[str]) -> AsyncIterator[None]:
        """Wait until nobody writes any of the resources, and keep all others away."""
        loop = asyncio.get_running_loop()
        asking = _Asking(frozenset(keys), loop, loop.create_future())
        if not asking.keys:
            yield
            return
        with self._mutex:
            self._asking.append(asking)
            self._pass_on()
        try:
            await asking.turn
            yield
        finally:
            with self._mutex:
                with suppress(ValueError):
                    self._asking.remove(asking)
                self._pass_on()

    def _pass_on(self) -> None:
        """Let everybody go on whose resources nobody who asked earlier holds or waits for."""
        taken: set[str] = set()
        for asking in tuple(self._asking):
            if not asking.held and taken.isdisjoint(asking.keys):
                try:
                    asking.loop.call_soon_threadsafe(_begin, asking.turn)
                except RuntimeError:  # its loop is closed: it will never run again
                    self._asking.remove(asking)
                    continue
                asking.held = True
            taken |= asking.keys


def _begin(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
