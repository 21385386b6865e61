"""The clock, which anybody may set, and the time that goes by, which nobody can."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

Clock = Callable[[], datetime]
LONGEST_S = 10 * 365 * 86_400
"""Most seconds that anything can be asked to last: ten years."""


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
    """Find the timer that goes with a clock: that of the machine, or for the clock of a test that clock."""
    return Timer(boot=boot_id()) if clock is utc_now else Timer(lambda: clock().timestamp())


@dataclass(frozen=True)
class Time:
    """What an agent tells the time by."""

    clock: Clock = utc_now
    """Tells the time of day, in UTC."""
    timer: Timer = field(default_factory=Timer)
    """Tells how time goes by."""
