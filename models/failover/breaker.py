"""A circuit breaker: an endpoint that keeps failing is left alone for a while, then tried once."""

from __future__ import annotations


class CircuitBreaker:
    """Closed, open after `failures` in a row, half-open after `open_s`; times are monotonic seconds."""

    def __init__(self, failures: int, open_s: float) -> None:
        self._limit = failures
        self._open_s = open_s
        self._failures = 0
        self._open_until = 0.0
        self._probing = False

    def closed_at(self, now: float) -> bool:
        """Say whether a call may be made: while half-open, one at a time."""
        if self._failures < self._limit:
            return True
        return now >= self._open_until and not self._probing

    def rests_until(self) -> float:
        """Name the moment from which it may be tried again."""
        return self._open_until

    def begin(self) -> None:
        """Take note that a call is on its way; while half-open it is the only one."""
        self._probing = self._failures >= self._limit

    def succeeded(self) -> None:
        """Close it."""
        self._failures, self._probing = 0, False

    def failed(self, now: float) -> None:
        """Count a failure; the last one allowed, and every failed probe, opens it."""
        self._failures += 1
        self._probing = False
        if self._failures >= self._limit:
            self._open_until = now + self._open_s

    def abandoned(self) -> None:
        """Take note that a call ended without telling anything about the endpoint."""
        self._probing = False
