"""What time it is for a store: a clock that anybody may set, held against the time that goes by. Pure.

What a store counts, `counted_s`, rises as fast as the seconds since the boot, whatever the clock shows; what
ends after a while ends by it. The time of day is as far ahead of it as the clock was when it was believed
last. A clock that steps is believed once it has stood for `SETTLE_S`: days and schedules go by it then, and
nothing has become older. After a new boot what the clock is ahead by is time in which the machine was off:
once it has stood, what was open before closes sooner by that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

NEAR_S = 2.0
"""How far a clock may be from the time of the store, in seconds, and agree with it."""
SETTLE_S = 600.0
"""Seconds for which a clock has to stand where it has stepped to before it is believed."""
JOIN_S = 120.0
"""For how long nobody may have looked, in seconds, where another boot goes on by the clock at once."""
LOOK_S, TICK_S = 10.0, 60.0
"""Seconds between two looks of a process, and between two marks on record, while a store is in use."""
APART_S = JOIN_S + TICK_S + LOOK_S + NEAR_S
"""By how much two hosts may have counted differently: what one opens is not ended early by the other."""
SLEW = 0.001
"""Share of the time that goes by in which a clock that agrees is followed: no oscillator is that wrong."""


@dataclass(frozen=True)
class Reading:
    """What is read at one moment."""

    clock_s: float
    """The clock that can be set, in seconds since 1970."""
    boot_s: float
    """Seconds since the machine was started, which nobody can set."""
    boot: str
    """Name of the boot, within which those seconds can be compared."""
    named: bool = True
    """Whether other processes know the boot by that name; where not, the clock is all there is."""


@dataclass(frozen=True)
class TimeMark:
    """Where the time of a store stood at a moment of a boot."""

    boot: str
    """Name of the boot."""
    boot_s: float
    """Seconds since the machine was started, at that moment."""
    counted_s: float
    """Seconds that the store had counted; a new one begins with what the clock shows."""
    ahead_s: float
    """How far the time of day is ahead of them, in seconds."""
    off_s: float = 0
    """How far the clock is ahead of that time of day, in seconds, where it is not believed; 0 where it is."""
    since_s: float = 0
    """Second, as counted, from which on it has stood there."""
    was_off: bool = False
    """Whether the boot is new, and nobody knows for sure how long the machine was off."""
    gap_s: float = 0
    """How long that was, in seconds: the least that the clock has said; below 0 where it has said nothing."""
    taken_up_s: float = 0
    """Second, as counted, at which that was: what was open by then may close sooner by the gap."""
    step_s: float = 0
    """How far the clock had stepped, unbelieved, when the boot before ended: it may still be off by that."""
    moved_s: float = 0
    """How far the time of day was set since the boot: before the next one the clock may be set back again."""
    apart_s: float = 0
    """By how much another host that uses the store may have counted less, in seconds; it is not on record."""

    @property
    def now_s(self) -> float:
        """The time of day, in seconds since 1970; in a new boot the clock is followed forward at once."""
        return self.counted_s + self.ahead_s + (max(0.0, self.off_s) if self.was_off else 0.0)

    @property
    def now(self) -> datetime:
        """The same, in UTC."""
        return datetime.fromtimestamp(self.now_s, UTC)

    @property
    def earliest(self) -> datetime:
        """The earliest time of day that it may be, in UTC: nothing is thrown away that may be young."""
        return datetime.fromtimestamp(self.counted_s + self.ahead_s, UTC)

    @property
    def latest(self) -> datetime:
        """The latest time of day that it may be, in UTC: nothing is allowed by what may be over."""
        return datetime.fromtimestamp(self.counted_s + self.ahead_s + max(0.0, self.off_s), UTC)

    @property
    def believed_s(self) -> float:
        """The second, as counted, at which the clock is believed if it stands where it is."""
        return self.since_s + SETTLE_S

    def is_over(self, closes_s: float) -> bool:
        """Say whether a second, as counted, has come for sure, also by the count of another host."""
        return closes_s <= self.counted_s - self.apart_s

    def may_be_over(self, opened_s: float, closes_s: float) -> bool:
        """Say whether it has come, or has if the machine was off for as long as the clock says."""
        return self.is_over(self.sooner(opened_s, closes_s) if self.was_off else closes_s)

    def sooner(self, opened_s: float, closes_s: float) -> float:
        """Say when something closes that was opened at a second, after the machine was off for the gap."""
        return closes_s - max(0.0, self.gap_s) if opened_s < self.taken_up_s else closes_s

    def moment(self, counted_s: float) -> datetime:
        """Say what time of day it is at a second, as counted, as far as is known now; to the millisecond."""
        return datetime.fromtimestamp(round(counted_s + self.now_s - self.counted_s, 3), UTC)

    def counted_at(self, moment: datetime) -> float:
        """Say at which second, as counted, it is a time of day, as far as is known now."""
        return moment.timestamp() - (self.now_s - self.counted_s)

    def after(self, boot_s: float) -> TimeMark:
        """Let the time go by that has gone by in the same boot."""
        went_s = max(0.0, boot_s - self.boot_s)
        return replace(self, boot_s=boot_s, counted_s=self.counted_s + went_s)


def begun(reading: Reading) -> TimeMark:
    """Begin to count, in a store that has counted nothing yet."""
    return TimeMark(reading.boot, reading.boot_s, reading.clock_s, 0)


def is_of(mark: TimeMark, reading: Reading) -> bool:
    """Say whether a mark is of the boot that is read in; a machine that was put back is another one."""
    return mark.boot == reading.boot and mark.boot_s <= reading.boot_s + NEAR_S


def taken_up(mark: TimeMark, reading: Reading) -> TimeMark:
    """Go on in another boot: by the clock where somebody has looked lately, else as one that was off."""
    off_s = _off(mark, reading)
    went_s = off_s - mark.off_s
    here = replace(mark, boot=reading.boot, boot_s=reading.boot_s)
    if 0 <= went_s <= JOIN_S or not reading.named:
        return replace(here, counted_s=mark.counted_s + max(0.0, went_s))
    late_s = LOOK_S + TICK_S  # after the mark something may have been opened, until the boot ended
    here, off_s = replace(here, counted_s=mark.counted_s + late_s), off_s - late_s
    here = replace(here, off_s=off_s, since_s=here.counted_s)
    if mark.was_off:  # and started again before anybody knew for how long
        more_s = mark.gap_s + went_s - late_s if mark.gap_s >= 0 else off_s
        return replace(here, gap_s=_least(more_s, *_gaps(here, off_s)))
    here = replace(here, was_off=True, taken_up_s=here.counted_s, step_s=mark.off_s)
    return replace(here, gap_s=_least(*_gaps(here, off_s)))


def looked_at(mark: TimeMark, reading: Reading) -> TimeMark:
    """Hold the clock against the time of the store, in the same boot."""
    now = mark.after(reading.boot_s)
    off_s = _off(now, reading)
    if not reading.named:
        return _believed(now, reading)
    if now.was_off:
        now = replace(now, gap_s=_least(now.gap_s, *_gaps(now, off_s)))
    elif abs(off_s) <= NEAR_S:
        most_s = SLEW * (now.boot_s - mark.boot_s)
        followed_s = max(-most_s, min(off_s, most_s))
        return replace(now, ahead_s=now.ahead_s + followed_s, off_s=0, since_s=0)
    if not (now.off_s or now.was_off) or abs(off_s - now.off_s) > NEAR_S:
        return replace(now, off_s=off_s, since_s=now.counted_s)
    return now if now.counted_s < now.believed_s else _believed(now, reading)


def joined(mark: TimeMark, other: TimeMark, reading: Reading) -> TimeMark:
    """Follow the process of another boot that has looked since: they have one time of day, and count alike.

    One that was off goes on by the clock since then, unless that has stepped in between.
    """
    if other.was_off:
        return mark
    went_s = _off(other, reading) - other.off_s
    since_s = went_s if mark.was_off and 0 <= went_s <= JOIN_S else 0.0
    counted_s = max(mark.counted_s, other.counted_s + since_s)
    return replace(other, boot=mark.boot, boot_s=mark.boot_s, counted_s=counted_s)


def _off(mark: TimeMark, reading: Reading) -> float:
    """Say how far the clock is ahead of the time of day that was believed last."""
    return reading.clock_s - mark.counted_s - mark.ahead_s


def _gaps(mark: TimeMark, off_s: float) -> tuple[float, ...]:
    """List what the gap may be: by the clock, and by it where what it had stepped by was taken back."""
    return off_s, off_s - mark.step_s, off_s + mark.moved_s


def _least(*gaps_s: float) -> float:
    """Take the least of what a gap may be, so that nothing ends early; below 0 where no clock says any."""
    return min((max(0.0, gap_s) for gap_s in gaps_s if gap_s > -NEAR_S), default=-NEAR_S)


def _believed(mark: TimeMark, reading: Reading) -> TimeMark:
    """Let the time of day be what the clock shows."""
    ahead_s = reading.clock_s - mark.counted_s
    moved_s = 0.0 if mark.was_off else mark.moved_s + ahead_s - mark.ahead_s
    return replace(mark, ahead_s=ahead_s, off_s=0, since_s=0, was_off=False, step_s=0, moved_s=moved_s)
