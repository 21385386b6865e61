"""A machine whose clock a test turns, and whose seconds it lets go by."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from planwright.domain.clock import Timer

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Machine:
    """What the processes of one machine read: a clock that anybody may set, and the seconds of a boot."""

    def __init__(self, now: datetime = NOON) -> None:
        self.boots = 1
        self._shown = now
        self._seconds = 1000.0

    def clock(self) -> datetime:
        """Read the clock."""
        return self._shown

    def timer(self) -> Timer:
        """Give the timer of a process that begins now."""
        return Timer(lambda: self._seconds, f"boot {self.boots}")

    def pass_by(self, **span: float) -> None:
        """Let time go by."""
        self._shown += timedelta(**span)
        self._seconds += timedelta(**span).total_seconds()

    def turn(self, **span: float) -> None:
        """Set the clock forward, or back."""
        self._shown += timedelta(**span)

    def start_again(self, **off: float) -> None:
        """Start the machine anew after it was off; processes that begin then are of another boot."""
        self._shown += timedelta(**off)
        self.boots += 1
        self._seconds = 5.0
