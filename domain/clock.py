"""The clock, which anybody may set, the time that goes by, which nobody can, and days and months in UTC."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

Clock = Callable[[], datetime]
LONGEST_S = 10 * 365 * 86_400
"""Most seconds that anything can be asked to last: ten years."""
LOOKS, LONGEST_LOOK_S = 50, 1.0


def utc_now() -> datetime:
    """Read the clock, in UTC."""
    return datetime.now(UTC)


def boot_id() -> str:
    """Name the present boot of this machine; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def seconds_of_boot() -> float:
    """Read the seconds since the machine was started, sleep included (CLOCK_BOOTTIME, clock_gettime(2))."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True)
class Timer:
    """How time goes by: `seconds` never falls, and can be compared within one `boot` that has a name."""

    seconds: Callable[[], float] = seconds_of_boot
    """Reads a clock in seconds that never falls, for durations."""
    boot: str = ""
    """Name of the boot within which readings can be compared; "" where they never can."""


def timer_of(clock: Clock) -> Timer:
    """Find the timer that goes with a clock: that of the machine, or for the clock of a test that clock.

    Containers may have seconds of their own within a boot (time_namespaces(7)).
    """
    if clock is not utc_now:
        return Timer(lambda: clock().timestamp())
    boot = boot_id()
    with suppress(OSError):
        boot = boot and f"{boot}:{os.readlink('/proc/self/ns/time')}"
    return Timer(boot=boot)


class AttendedTimeout:
    """A limit of time, as `asyncio.timeout`, that counts only while the event loop attends to what comes in.

    A loop with too much to do, or a process that was stopped, hears late of what was there in time: of 450
    requests at once 436 were given up for want of an answer. So a limit is a number of looks in vain, and
    between two of them no more counts than they were set apart. Where `idle_s` is given, too, it counts from
    the last sign of life (`heard`). `looked` is called at every look, with the seconds that count so far.
    """

    def __init__(
        self, total_s: float, idle_s: float = math.inf, looked: Callable[[float], None] = lambda _: None
    ) -> None:
        self._total_s, self._idle_s, self._looked = total_s, idle_s, looked
        self._step_s = min(min(total_s, idle_s) / LOOKS, LONGEST_LOOK_S)
        self._waited_s = self._silent_s = 0.0
        self._limit = asyncio.timeout(None)
        self._next: asyncio.TimerHandle | None = None
        self._over = False

    async def __aenter__(self) -> Self:
        await self._limit.__aenter__()
        self._around = _WITHIN.get()
        self._reset = _WITHIN.set(self)
        self.go_on()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.lift()
        _WITHIN.reset(self._reset)
        await self._limit.__aexit__(kind, error, at)

    def expired(self) -> bool:
        """Say whether it is over, which raises TimeoutError within the block that it limits."""
        return self._limit.expired()

    def lift(self) -> None:
        """Let the block go on without a limit."""
        if self._next is not None:
            self._next.cancel()

    def go_on(self) -> None:
        """Count from here on, where it was lifted."""
        self.lift()
        left_s = min(self._total_s - self._waited_s, self._idle_s - self._silent_s)
        step_s = min(self._step_s, left_s)
        self._next = asyncio.get_running_loop().call_later(step_s, self._look, step_s)

    def silent(self) -> bool:
        """Say whether nothing has been heard for as long as it may be silent."""
        return self._silent_s >= self._idle_s

    def _look(self, step_s: float) -> None:
        self._waited_s += step_s
        self._silent_s += step_s
        self._over = self._waited_s >= self._total_s or self.silent()
        if self._over:
            self._limit.reschedule(asyncio.get_running_loop().time())
        else:
            self.go_on()
        self._looked(self._waited_s)

    def heard(self) -> None:
        """Take note of a sign of life, also for the limits around this one."""
        if not self._over:  # who is given up may say something as it goes
            self._silent_s = 0.0
        if self._around is not None:
            self._around.heard()


_WITHIN: ContextVar[AttendedTimeout | None] = ContextVar("within", default=None)


def heard() -> None:
    """Take note of a sign of life from what the limits around this call wait for."""
    if (limit := _WITHIN.get()) is not None:
        limit.heard()


@dataclass(frozen=True)
class Window:
    """A day or month in which a provider's limits count; `name` is what people read.

    Times in ISO 8601 from `start` on and before `end` belong to it.
    """

    period: Literal["day", "month"]
    """Whether it is a day or a month, of UTC."""
    name: str
    """What people read: `2026-11-22` for a day, `2026-11` for a month."""
    start: str
    """Its first day, as an ISO 8601 date; later texts of moments sort after it."""
    end: str
    """The first day after it, as an ISO 8601 date."""


def day_of(at: datetime) -> Window:
    """Find the day of a moment."""
    day = _date(at)
    return Window("day", day.isoformat(), day.isoformat(), (day + timedelta(days=1)).isoformat())


def month_of(at: datetime) -> Window:
    """Find the month of a moment."""
    first = _date(at).replace(day=1)
    following = (first + timedelta(days=31)).replace(day=1)
    return Window("month", f"{first:%Y-%m}", first.isoformat(), following.isoformat())


def utc_text(at: datetime) -> str:
    """Spell a moment so that texts sort as moments do, and after the name of their own day."""
    return at.astimezone(UTC).isoformat()


def _date(at: datetime) -> date:
    return at.astimezone(UTC).date()
