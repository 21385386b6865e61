"""Machines of a simulation whose clocks are turned, drift, stand still, and which are off for a while."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from benchmarks.simulated_time import BEGINS, World

DAY_S = 86_400.0
TURNS_S = (7 * DAY_S, -7 * DAY_S, DAY_S, -DAY_S, 5.5 * 3600, -3600.0, 300.0, -90.0)


class WrongClock:
    """A clock that anybody may set: how far it is from the true time, and how it goes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._wrong_s = 0.0
        self._rate = 0.0
        self._since = 0.0
        self.turned: list[float] = []
        """When it was set, began to drift, or stood still: in seconds of the simulation."""

    @property
    def wrong_s(self) -> float:
        """How far it is ahead of the true time."""
        return self._wrong_s + self._rate * (self._world.now - self._since)

    @property
    def goes_wrong(self) -> bool:
        """Whether it goes faster or slower than time does."""
        return bool(self._rate)

    def __call__(self) -> datetime:
        """Read it."""
        return BEGINS + timedelta(seconds=self._world.now + self.wrong_s)

    def turn(self, by_s: float) -> None:
        """Set it."""
        self._change(self.wrong_s + by_s, self._rate)

    def go(self, rate: float) -> None:
        """Let it go fast or slow from now on, by a share of the time; -1 stands still."""
        self._change(self.wrong_s, rate)

    def set_right(self) -> None:
        """Set it right, and let it go right."""
        self._change(0.0, 0.0)

    def _change(self, wrong_s: float, rate: float) -> None:
        self._wrong_s, self._rate, self._since = wrong_s, rate, self._world.now
        self.turned.append(self._world.now)

    def turned_between(self, begin: float, end: float) -> bool:
        """Say whether it was set or went wrong in a span of time."""
        return self.goes_wrong or any(begin <= at <= end for at in self.turned)


class Machine:
    """A host: its seconds since the boot, and whether it is on."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self.name = name
        self.on = True
        self._boots = 1
        self._booted = world.now - world.chance.uniform(10, 1e6)

    @property
    def boot(self) -> str:
        """Name of its boot."""
        return f"{self.name}:{self._boots}"

    def ticks(self) -> Callable[[], float]:
        """Give what reads the seconds since this boot."""
        booted = self._booted
        return lambda: self._world.now - booted

    def start(self) -> None:
        """Switch it on."""
        self.on, self._boots, self._booted = True, self._boots + 1, self._world.now - 5
