"""What happens when a model call fails: another key, the same again later, another provider, or the end.

Providers are tried by priority. Within one, a key that failed rests and the next is tried at once;
when all rest, the call is made again after a backoff. What a provider refuses for good is not tried
anywhere else (the breaker is Nygard's, "Release It!").
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from planwright.domain.errors import (
    KeyRefused,
    ModelError,
    ModelUnavailable,
    PlanwrightError,
    ProviderBudgetExceeded,
    ProviderResting,
)
from planwright.models.failover.classify import ClassStumbled
from planwright.models.failover.keys import Key, KeyRing
from planwright.settings.providers import BreakerSettings
from planwright.settings.providers import FailoverSettings as Limits
from planwright.state.agent_state import ModelRoute

T = TypeVar("T")
Move = Literal["next_key", "wait", "next_provider", "end"]
MakeCall = Callable[[ModelRoute, int], Awaitable[T]]
"""Makes the call at a provider and model, with the key at a position."""
Admit = Callable[[ModelRoute], AbstractAsyncContextManager[None]]
"""Waits for a turn at a provider, and holds it."""
Tell = Callable[[dict[str, Any]], None]
Failure = ModelError | ProviderBudgetExceeded


@dataclass(frozen=True)
class RetryState:
    """What a failed call has left: keys that do not rest, retries, and seconds until its deadline."""

    rested_key: bool
    """Whether there is a key that neither rests nor was tried."""
    retries: int
    """How often the provider may be asked again."""
    seconds: float
    """Seconds until the deadline of the call."""


@dataclass(frozen=True)
class Attempt:
    """Whom to ask next, with which key, and who is asked if that fails."""

    route: ModelRoute
    """Provider and model to ask."""
    key: Key
    """Key to begin with."""
    onward: ModelRoute | None
    """Provider and model that are asked if that fails; None for nobody."""


@dataclass
class Deadline:
    """Until when a call is made again; the waiting for its turn puts that off."""

    ends_at: float
    """Second of the failover's clock."""


class Failover:
    """Make calls until one succeeds; keys and breakers are remembered from call to call."""

    def __init__(
        self,
        count_keys: Callable[[ModelRoute], int],
        limits: Limits,
        breaker: BreakerSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        chance: random.Random | None = None,
    ) -> None:
        self._count_keys = count_keys
        self._limits = limits
        self._breaker = breaker
        self._clock = clock
        self._sleep = sleep
        self._chance = chance or random.Random()
        self._rings: dict[tuple[str, str], KeyRing] = {}

    async def serve(
        self,
        routes: Sequence[ModelRoute],
        attempt: MakeCall[T],
        tell: Tell,
        deadline_s: float,
        admit: Admit = lambda _: nullcontext(),
    ) -> T:
        """Return the first reply, trying `routes` in order, each call once it is its turn.

        `tell` hears of every failure and of what follows from it. Raises what the last provider failed
        with; ModelRejected, ContextOverflow, ModelOutputInvalid and ModelInterrupted at once. A provider
        whose budget is spent is passed over; ProviderBudgetExceeded when that holds for all.
        """
        deadline = Deadline(self._clock() + deadline_s)
        failures: list[Failure] = []
        for turn in self._turns(routes, failures, tell, deadline):
            try:
                return await self._at(turn, attempt, tell, deadline, admit)
            except (ModelUnavailable, KeyRefused) as error:
                failures.append(error)
            except ProviderBudgetExceeded as error:
                tell(_event_data(turn.route, None, error, "next_provider", 0, turn.onward))
                failures.append(error)
        raise _together(failures)

    def _turns(
        self, routes: Sequence[ModelRoute], failures: list[Failure], tell: Tell, deadline: Deadline
    ) -> Iterator[Attempt]:
        """Name whom to ask: by priority who does not rest, and then, the soonest first, who does.

        That all of several rest says more about the past than about now, so each is asked once all the
        same, as a load balancer in panic does (Envoy's panic threshold); one that asked for time gets it
        first. A provider that is alone and keeps failing is left alone.
        """
        resting: list[ModelRoute] = []
        for route, follows in zip(routes, [*routes, None][1:], strict=True):
            key = self._ring(route).awake(self._clock())
            if key is None:
                resting.append(route)
            then = self._rested(resting, deadline.ends_at, among=len(routes))
            onward = follows or (then[0].route if then else None)
            if key is not None:
                yield Attempt(route, key, onward)
            else:
                tell(_event_data(route, None, self._resting(route), "next_provider", 0, onward))
        then = self._rested(resting, deadline.ends_at, among=len(routes))
        queued = [turn.route for turn in then]
        failures += [self._resting(route) for route in resting if route not in queued]
        yield from then

    def _rested(self, resting: Sequence[ModelRoute], ends_at: float, among: int) -> list[Attempt]:
        """Plan to ask providers after their rest, as far as that ends in time; the soonest first."""
        now = self._clock()
        keys = [(route, self._ring(route).shortest()) for route in resting]
        turns = [
            Attempt(route, key, None)
            for route, key in keys
            if key and key.not_before < ends_at and (among > 1 or key.breaker.closed_at(now))
        ]
        turns.sort(key=lambda turn: (max(now, turn.key.not_before), turn.key.breaker.rests_until()))
        return [
            replace(turn, onward=then.route if then else None)
            for turn, then in zip(turns, [*turns, None][1:], strict=True)
        ]

    async def _at(
        self, turn: Attempt, attempt: MakeCall[T], tell: Tell, deadline: Deadline, admit: Admit
    ) -> T:
        """Try one provider. Raises its last failure when it is the next one's turn."""
        route, key = turn.route, turn.key
        ring, retries, tried = self._ring(route), self._limits.retries, set[int]()
        if (rest := key.not_before - self._clock()) > 0:
            if key.not_before >= deadline.ends_at:  # those who were asked meanwhile took their time
                raise self._resting(route)
            await self._sleep(rest)
        while True:
            began, serves = self._clock(), key.usable(self._clock())
            try:
                async with admit(route):
                    now = self._clock()
                    deadline.ends_at += now - began
                    if serves and not key.usable(now):  # those whose turn was before have found that it fails
                        if (other := ring.awake(now)) is None:
                            break
                        key = other
                    return await self._call(route, key, attempt)
            except ModelError as failure:
                now = self._clock()
                tried.add(key.position)
                key.mark(failure, now, self._limits.key_cooldown_s)
                wait = self._backoff(self._limits.retries - retries, failure)
                fresh, later = ring.rested(now, tried), ring.soonest(now)
                left = RetryState(fresh is not None, retries if later else 0, deadline.ends_at - now)
                move = after(failure, left, wait)
                tell(_event_data(route, key, failure, move, wait, turn.onward))
                if move == "next_key" and fresh is not None:
                    key = fresh
                elif move == "wait" and later is not None:
                    await self._sleep(wait)
                    key, retries = ring.rested(self._clock()) or later, retries - 1
                else:
                    raise
        tell(_event_data(route, None, self._resting(route), "next_provider", 0, turn.onward))
        raise self._resting(route)

    async def _call(self, route: ModelRoute, key: Key, attempt: MakeCall[T]) -> T:
        key.breaker.begin()
        try:
            reply = await attempt(route, key.position)
        except ModelUnavailable as error:
            if route.embedded or isinstance(error, ClassStumbled):  # over this request; nothing is overloaded
                key.breaker.abandoned()
            else:
                key.breaker.failed(self._clock())
            raise
        except ModelError:
            key.breaker.succeeded()  # it answered, if not as we wished
            raise
        except BaseException:
            key.breaker.abandoned()
            raise
        key.breaker.succeeded()
        return reply

    def _ring(self, route: ModelRoute) -> KeyRing:
        name = (route.provider, route.model)
        if name not in self._rings:
            self._rings[name] = KeyRing(self._count_keys(route), self._breaker)
        return self._rings[name]

    def _resting(self, route: ModelRoute) -> ProviderResting | KeyRefused:
        """Say how long a provider is not to be asked, and why; or that none of its keys is taken."""
        key = self._ring(route).shortest()
        if key is None:
            return KeyRefused(
                f"every key of provider {route.provider} was refused",
                f"check the keys of providers.{route.provider}",
            )
        seconds = max(0.0, key.rest_ends() - self._clock())
        why, step = "it failed, or asked for it", "try again later, or add a second provider"
        if key.cause:
            why = key.cause.replace(f"provider {route.provider}", "it", 1)
            step = step if key.next_step in ("", step) else f"{key.next_step}; then try again"
        return ProviderResting(
            f"provider {route.provider} is left alone for {seconds:.0f} s: {why}", step, seconds
        )

    def _backoff(self, retry: int, failure: ModelError) -> float:
        """Double from 250 ms to 8 s, give or take a fifth; never less than the provider asks for."""
        limits = self._limits
        plain = min(limits.base_ms / 1000 * 2.0**retry, limits.cap_s)
        jittered = plain * (1 + limits.jitter * self._chance.uniform(-1, 1))
        wanted = failure.retry_after if isinstance(failure, ModelUnavailable) else 0
        return max(jittered, wanted)


def after(failure: ModelError, left: RetryState, wait_s: float) -> Move:
    """Decide what follows a failed call; `wait_s` is the backoff that would come before the next."""
    if not isinstance(failure, ModelUnavailable | KeyRefused):
        return "end"
    if left.rested_key:
        return "next_key"
    if isinstance(failure, ModelUnavailable) and left.retries > 0 and wait_s < left.seconds:
        return "wait"
    return "next_provider"


def _together(failures: list[Failure]) -> Failure:
    """Raise one provider's failure as it is; of several, the last, which then names them all.

    That all are over their budget is the failure only where nobody failed otherwise.
    """
    last = next((failure for failure in reversed(failures) if isinstance(failure, ModelError)), failures[-1])
    if len(failures) > 1:
        last.cause = "; ".join(failure.cause for failure in failures)
        last.args = (f"{last.cause}\n{last.next_step}",)
    return last


def _event_data(
    route: ModelRoute,
    key: Key | None,
    failure: PlanwrightError,
    move: Move,
    wait: float,
    onward: ModelRoute | None,
) -> dict[str, Any]:
    """Describe a failure and what follows from it, for the journal."""
    if move == "next_provider" and onward is None:
        move = "end"
    there = f"{onward.provider}/{onward.model}" if move == "next_provider" and onward else ""
    return {
        "provider": route.provider,
        "model": route.model,
        "key": 0 if key is None else key.position + 1,
        "failure": type(failure).__name__,
        "cause": failure.cause,
        "move": move,
        "wait_s": round(wait, 3) if move == "wait" else 0,
        "next": there,
    }
