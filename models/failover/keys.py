"""The keys of one provider and model: which is next, which rests, which was refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from planwright.domain.errors import KeyRefused, ModelError, ModelUnavailable
from planwright.models.failover.breaker import CircuitBreaker
from planwright.settings.providers import BreakerSettings


@dataclass
class Key:
    """One key. Until `rests_until` others go first; `not_before` is what the provider asked for."""

    position: int
    """Place of the key among those of its provider, counted from 0."""
    breaker: CircuitBreaker
    """Opens after failures in a row."""
    refused: bool = False
    """Whether the provider has refused it for good."""
    rests_until: float = 0
    """Until when others go first, in seconds of the failover's clock."""
    not_before: float = 0
    """Until when the provider asked not to be asked, in seconds of the same clock."""
    cause: str = ""
    """What the last call that the provider failed met; "" before the first."""
    next_step: str = ""
    """What a person can do about that."""

    def usable(self, now: float) -> bool:
        """Say whether it may be sent with at all."""
        return not self.refused and self.breaker.closed_at(now)

    def rest_ends(self) -> float:
        """Name the moment from which it may be sent with."""
        return max(self.not_before, self.breaker.rests_until())

    def mark(self, failure: ModelError, now: float, cooldown_s: float) -> None:
        """Take it out where it was refused; else let others go first as long as the provider asks for."""
        if isinstance(failure, KeyRefused):
            self.refused = True
        elif isinstance(failure, ModelUnavailable):
            asked_s, self.cause, self.next_step = failure.retry_after, failure.cause, failure.next_step
            self.rests_until = now + (asked_s or cooldown_s)
            if asked_s:
                self.not_before = now + asked_s


class KeyRing:
    """The keys of one provider and model, in the order they are written."""

    def __init__(self, count: int, breaker: BreakerSettings) -> None:
        self.keys = [
            Key(position, CircuitBreaker(breaker.failures, breaker.open_s)) for position in range(count)
        ]

    def rested(self, now: float, tried: Collection[int] = ()) -> Key | None:
        """Pick the first key that neither rests nor was tried."""
        fresh = (key for key in self.keys if key.position not in tried and key.usable(now))
        return next((key for key in fresh if key.rests_until <= now), None)

    def soonest(self, now: float) -> Key | None:
        """Pick the key that rests the shortest; None when none may be used."""
        usable = [key for key in self.keys if key.usable(now)]
        return min(usable, key=lambda key: (key.not_before, key.rests_until), default=None)

    def awake(self, now: float) -> Key | None:
        """Pick the key to begin with; None when a breaker, or what the provider asked for, forbids any."""
        key = self.rested(now) or self.soonest(now)
        return key if key and key.not_before <= now else None

    def shortest(self) -> Key | None:
        """Pick the key whose rest ends first, be it long; None when all were refused."""
        return min((key for key in self.keys if not key.refused), key=Key.rest_ends, default=None)
