"""Time that does not pass by itself, and event loops that take their steps in an order that a seed decides.

One thread serves all loops. A step is one callback of one loop; between two steps anything may happen.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
import random
import sys
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from typing_extensions import TypeVarTuple, Unpack

Ts = TypeVarTuple("Ts")
T = TypeVar("T")
BEGINS = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
TICKS_AT_BOOT = 1000.0


class World:
    """The time of a simulation: `now` only rises, the clock is set at will, ticks begin at a boot."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now = 0.0
        self.boot = 1
        self.trace: list[str] = []
        self._booted = 0.0
        self._set = timedelta()
        self._frozen: datetime | None = None
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def clock(self) -> datetime:
        """Read the clock on the wall."""
        return self._frozen or BEGINS + timedelta(seconds=self.now) + self._set

    def ticks(self) -> float:
        """Read the seconds since the machine was started."""
        return TICKS_AT_BOOT + self.now - self._booted

    def set_clock(self, by: timedelta) -> None:
        """Set the clock on the wall forward or back; a frozen one goes again."""
        self._frozen, self._set = None, self._set + by

    def freeze_clock(self) -> None:
        """Let the clock on the wall stand still."""
        self._frozen = self.clock()

    def start_again(self) -> None:
        """Start the machine anew: ticks begin where they began before."""
        self.boot, self._booted = self.boot + 1, self.now

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Let something happen after some seconds, whoever lives then."""
        heapq.heappush(self._later, (self.now + seconds, next(self._order), action))

    def note(self, line: str) -> None:
        """Write a line of the trace."""
        self.trace.append(f"{self.now:9.3f} {line}")

    def due(self) -> float | None:
        """Say when the next thing happens that belongs to nobody."""
        return self._later[0][0] if self._later else None

    def happen(self) -> None:
        """Let happen what is due."""
        while self._later and self._later[0][0] <= self.now:
            heapq.heappop(self._later)[2]()


class Late(BaseException):
    """Raised by a blocking function that takes `seconds`; `then` is the rest of it."""

    def __init__(self, seconds: float, then: Callable[[], Any]) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        self.then = then


class SimulatedLoop(asyncio.AbstractEventLoop):
    """An event loop of one worker; blocking functions are steps of it as well."""

    def __init__(self, world: World, name: str = "") -> None:
        self.world = world
        self.name = name
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._order = itertools.count()

    def step(self) -> None:
        """Take one step."""
        while self._timers and self._timers[0][0] <= self.world.now:
            self._ready.append(heapq.heappop(self._timers)[2])
        handle = self._ready.popleft()
        if handle.cancelled():
            return
        before = sys.get_asyncgen_hooks()
        events._set_running_loop(self)
        sys.set_asyncgen_hooks(finalizer=self._finish)
        try:
            handle._run()
        finally:
            sys.set_asyncgen_hooks(*before)
            events._set_running_loop(None)

    def due(self) -> float | None:
        """Say when the next step can be taken; None when there is none."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        if self._ready:
            return self.world.now
        return self._timers[0][0] if self._timers else None

    def time(self) -> float:
        """Read the seconds of this simulation."""
        return self.world.now

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Take a step next."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Take a step next; there is one thread."""
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Take a step after some seconds."""
        return self.call_at(self.world.now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Take a step at a time."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._order), handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        """Make a future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[Any]:
        """Begin a task."""
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def run_in_executor(
        self, executor: Any, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Call a blocking function as a step; one that is `Late` ends after its seconds."""
        future = self.create_future()

        def call(work: Callable[[], Any]) -> None:
            try:
                value = work()
            except Late as late:
                self.call_later(late.seconds, call, late.then)
            except BaseException as error:  # noqa: BLE001 - handed to who waits
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(value)

        self.call_soon(call, lambda: func(*args))
        return future

    def get_debug(self) -> bool:
        """Say that there is nothing to watch."""
        return False

    def is_running(self) -> bool:
        """Say that steps are taken."""
        return True

    def is_closed(self) -> bool:
        """Say that this loop is never closed: nobody takes its steps any more."""
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Pass over what nobody waited for."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Do nothing: a cancelled timer is passed over."""

    def _finish(self, generator: Any) -> None:
        self.call_soon(self.create_task, generator.aclose())


def step(world: World, loops: list[SimulatedLoop]) -> bool:
    """Take one step of one loop, or let time go by until one can be taken; say whether there was any."""
    due = [(loop, when) for loop in loops if (when := loop.due()) is not None]
    ready = [loop for loop, when in due if when <= world.now]
    if ready:
        (ready[0] if len(ready) == 1 else world.chance.choice(ready)).step()
        return True
    times = [when for _, when in due] + [when for when in (world.due(),) if when is not None]
    if not times:
        return False
    world.now = max(world.now, min(times))
    world.happen()
    return True
