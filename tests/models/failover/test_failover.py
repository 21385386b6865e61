"""Another key, the same again later, another provider, or the end: with a clock that stands still."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from planwright.domain.errors import (
    BudgetExceeded,
    ContextOverflow,
    KeyRefused,
    ModelError,
    ModelInterrupted,
    ModelOutputInvalid,
    ModelRejected,
    ModelUnavailable,
    ProviderBudgetExceeded,
    ProviderResting,
)
from planwright.models.failover.classify import ClassStumbled
from planwright.models.failover.failover import Failover, Move, RetryState, after
from planwright.settings.providers import BreakerSettings
from planwright.settings.providers import FailoverSettings as Limits
from planwright.state.agent_state import ModelRoute

A, B, C = (ModelRoute(provider=name, model="m") for name in "abc")
STEADY, USUAL = Limits(jitter=0), BreakerSettings()
DOWN, KEY = ModelUnavailable("down"), KeyRefused("no key")
Outcome = str | Exception


@dataclass
class Stage:
    """A clock that only sleeping moves, providers that play what is set, and what was seen of it."""

    play: Callable[[str, int], Outcome]
    keys: int = 1
    limits: Limits = STEADY
    breaker: BreakerSettings = USUAL
    now: float = 100.0
    sent: list[tuple[str, int]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.failover = Failover(
            lambda route: self.keys,
            self.limits,
            self.breaker,
            clock=lambda: self.now,
            sleep=self.sleep,
            chance=random.Random(1),
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def attempt(self, route: ModelRoute, key: int) -> str:
        self.sent.append((route.provider, key))
        outcome = self.play(route.provider, key)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def ask(self, *routes: ModelRoute, deadline_s: float = 120) -> str:
        return await self.failover.serve(routes or (A,), self.attempt, self.told.append, deadline_s)

    @property
    def moves(self) -> list[str]:
        return [entry["move"] for entry in self.told]


def script(*outcomes: Outcome) -> Callable[[str, int], Outcome]:
    left = list(outcomes)
    return lambda provider, key: left.pop(0) if len(left) > 1 else left[0]


DECISIONS: tuple[tuple[ModelError, RetryState, float, Move], ...] = (
    (DOWN, RetryState(True, 3, 60), 1, "next_key"),
    (DOWN, RetryState(False, 3, 60), 1, "wait"),
    (DOWN, RetryState(False, 3, 60), 60, "next_provider"),
    (DOWN, RetryState(False, 0, 60), 1, "next_provider"),
    (KEY, RetryState(True, 3, 60), 1, "next_key"),
    (KEY, RetryState(False, 3, 60), 1, "next_provider"),
    (ModelRejected("400"), RetryState(True, 3, 60), 1, "end"),
    (ContextOverflow("too long"), RetryState(True, 3, 60), 1, "end"),
    (ModelOutputInvalid("cut"), RetryState(True, 3, 60), 1, "end"),
    (ModelInterrupted("broke off"), RetryState(True, 3, 60), 1, "end"),
)


@pytest.mark.parametrize(("failure", "left", "wait", "move"), DECISIONS)
def test_what_follows_a_failure(failure: ModelError, left: RetryState, wait: float, move: Move) -> None:
    assert after(failure, left, wait) == move


async def test_a_provider_gets_three_retries_with_growing_waits() -> None:
    stage = Stage(script(DOWN))
    with pytest.raises(ModelUnavailable):
        await stage.ask()
    assert stage.sent == [("a", 0)] * 4
    assert stage.slept == [0.25, 0.5, 1.0]
    assert stage.moves == ["wait", "wait", "wait", "end"]


async def test_waits_stop_growing_and_are_blurred_by_a_fifth() -> None:
    stage = Stage(script(DOWN), limits=Limits(retries=8), breaker=BreakerSettings(failures=99))
    with pytest.raises(ModelUnavailable):
        await stage.ask()
    plain = [0.25, 0.5, 1, 2, 4, 8, 8, 8]
    blur = [wait / whole for wait, whole in zip(stage.slept, plain, strict=True)]
    assert all(0.8 <= ratio <= 1.2 for ratio in blur)
    assert len(set(blur)) == len(blur)


async def test_what_the_provider_asks_for_is_the_least_that_is_waited() -> None:
    stage = Stage(script(ModelUnavailable("slow down", retry_after=5), "ok"))
    assert await stage.ask() == "ok"
    assert stage.slept == [5]


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    stage = Stage(script(ModelUnavailable("slow down", retry_after=3600)))
    with pytest.raises(ModelUnavailable):
        await stage.ask(deadline_s=30)
    assert (stage.sent, stage.slept) == ([("a", 0)], [])


async def test_the_next_key_is_tried_at_once_and_each_only_once_before_a_wait() -> None:
    stage = Stage(script(DOWN, DOWN, DOWN, "ok"), keys=3)
    assert await stage.ask() == "ok"
    assert stage.sent[:3] == [("a", 0), ("a", 1), ("a", 2)]
    assert stage.moves == ["next_key", "next_key", "wait"]
    assert stage.slept == [0.25]


async def test_a_key_that_failed_rests_a_minute() -> None:
    stage = Stage(lambda provider, key: DOWN if key == 0 else "ok", keys=2)
    await stage.ask()
    stage.now += 59
    await stage.ask()
    stage.now += 2
    await stage.ask()
    assert stage.sent == [("a", 0), ("a", 1), ("a", 1), ("a", 0), ("a", 1)]


async def test_a_refused_key_is_never_used_again() -> None:
    stage = Stage(lambda provider, key: KEY if key == 0 else "ok", keys=2)
    for _ in range(3):
        await stage.ask()
        stage.now += 10_000
    assert stage.sent == [("a", 0), ("a", 1), ("a", 1), ("a", 1)]


async def test_a_provider_without_a_good_key_makes_way_and_then_is_not_asked() -> None:
    stage = Stage(lambda provider, key: KEY if provider == "a" else "ok", keys=2)
    assert [await stage.ask(A, B), await stage.ask(A, B)] == ["ok", "ok"]
    assert stage.sent == [("a", 0), ("a", 1), ("b", 0), ("b", 0)]
    with pytest.raises(KeyRefused, match="every key of provider a was refused"):
        await stage.ask(A)


async def test_the_next_provider_serves_when_the_retries_are_used_up() -> None:
    stage = Stage(lambda provider, key: DOWN if provider == "a" else "ok")
    assert await stage.ask(A, B, C) == "ok"
    assert stage.sent == [("a", 0)] * 4 + [("b", 0)]
    assert stage.told[-1]["next"] == "b/m"


@pytest.mark.parametrize(
    "failure", [ModelRejected("400"), ContextOverflow("long"), ModelOutputInvalid("x"), ModelInterrupted("y")]
)
async def test_what_is_refused_for_good_is_not_tried_elsewhere(failure: ModelError) -> None:
    stage = Stage(script(failure), keys=2)
    with pytest.raises(type(failure)):
        await stage.ask(A, B)
    assert stage.sent == [("a", 0)]
    assert stage.moves == ["end"]


async def test_a_provider_that_keeps_failing_is_left_alone_and_then_probed_once() -> None:
    health: dict[str, Outcome] = {"a": DOWN, "b": "ok"}
    stage = Stage(lambda provider, key: health[provider])
    for _ in range(10):
        assert await stage.ask(A, B) == "ok"
    assert stage.sent.count(("a", 0)) == 5
    stage.now += 31
    await stage.ask(A, B)
    assert stage.sent.count(("a", 0)) == 6
    stage.now += 31
    health["a"] = "back"
    assert [await stage.ask(A, B), await stage.ask(A, B)] == ["back", "back"]


async def test_a_provider_left_alone_is_named_with_the_time() -> None:
    stage = Stage(script(DOWN))
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            await stage.ask()
    with pytest.raises(ProviderResting, match=f"provider a is left alone for 30 s: {DOWN.cause}") as resting:
        await stage.ask()
    assert resting.value.next_step
    assert len(stage.sent) == 5


async def test_no_provider_is_left_alone_for_what_the_class_of_a_model_raises() -> None:
    stage = Stage(script(ClassStumbled("the model that was given in code raised ValueError: a bug")))
    for _ in range(4):
        with pytest.raises(ClassStumbled):
            await stage.ask()
    assert len(stage.sent) == 4 * (1 + STEADY.retries)


async def test_while_half_open_one_call_probes() -> None:
    stage = Stage(script(DOWN))
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            await stage.ask()
    stage.now += 31
    going, sent = asyncio.Event(), list[str]()

    async def slow(route: ModelRoute, key: int) -> str:
        sent.append(route.provider)
        await going.wait()
        return "ok"

    first = asyncio.ensure_future(stage.failover.serve((A,), slow, stage.told.append, 10))
    await asyncio.sleep(0)
    with pytest.raises(ProviderResting):
        await stage.failover.serve((A,), slow, stage.told.append, 10)
    going.set()
    assert await first == "ok"
    assert sent == ["a"]


async def test_a_probe_that_is_cancelled_lets_the_next_one_probe() -> None:
    stage = Stage(script(DOWN))
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            await stage.ask()
    stage.now += 31

    async def cancelled(route: ModelRoute, key: int) -> str:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await stage.failover.serve((A,), cancelled, stage.told.append, 10)
    stage.play = script("ok")
    assert await stage.ask() == "ok"


async def test_a_provider_that_asked_for_time_is_passed_over_where_another_can_serve() -> None:
    busy = ModelUnavailable("slow down", retry_after=600)
    stage = Stage(lambda provider, key: busy if provider == "a" else "ok")
    for _ in range(3):
        assert await stage.ask(A, B) == "ok"
    assert stage.sent == [("a", 0), ("b", 0), ("b", 0), ("b", 0)]
    assert stage.slept == []


async def test_a_provider_that_asked_for_time_and_is_alone_is_waited_for() -> None:
    stage = Stage(script(ModelUnavailable("slow down", retry_after=20), "ok"), limits=Limits(retries=0))
    with pytest.raises(ModelUnavailable):
        await stage.ask()
    assert await stage.ask() == "ok"
    assert stage.slept == [20]


async def test_the_one_whose_rest_ends_first_is_waited_for_where_all_rest() -> None:
    asked_for = {"a": 50.0, "b": 20.0}
    busy = {name: ModelUnavailable(f"{name} is busy", retry_after=wait) for name, wait in asked_for.items()}
    stage = Stage(lambda provider, key: busy[provider], limits=Limits(retries=0))
    with pytest.raises(ModelUnavailable):
        await stage.ask(A, B)
    stage.play, stage.told, stage.sent = script("ok"), [], []
    assert await stage.ask(A, B) == "ok"
    assert (stage.sent, stage.slept) == ([("b", 0)], [20])
    assert [(told["provider"], told["next"]) for told in stage.told] == [("a", "b/m"), ("b", "b/m")]


async def test_no_rest_is_waited_for_beyond_the_deadline(  # each of three is worth a wait, all are not
) -> None:
    asked_for = {"a": 20.0, "b": 25.0, "c": 28.0}
    stage = Stage(
        lambda provider, key: ModelUnavailable("busy", retry_after=asked_for[provider]),
        limits=Limits(retries=0),
    )
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            await stage.ask(A, B, C, deadline_s=30)
    assert stage.now <= 100 + 30
    assert stage.sent == [("a", 0), ("b", 0), ("c", 0)] * 2


async def all_resting(health: dict[str, Outcome]) -> Stage:
    stage = Stage(lambda provider, key: health[provider], limits=Limits(retries=0))
    for _ in range(5):
        with pytest.raises(ModelUnavailable):
            await stage.ask(A, B, C)
    stage.sent, stage.told = [], []
    return stage


async def test_where_all_were_left_alone_each_is_asked_once_all_the_same() -> None:
    stage = await all_resting(dict.fromkeys("abc", DOWN))
    with pytest.raises(ModelUnavailable, match="down; down; down"):
        await stage.ask(A, B, C)
    assert (stage.sent, stage.slept) == ([("a", 0), ("b", 0), ("c", 0)], [])
    assert stage.moves == ["next_provider"] * 5 + ["end"]


async def test_one_that_is_back_serves_from_then_on() -> None:
    health: dict[str, Outcome] = dict.fromkeys("abc", DOWN)
    stage = await all_resting(health)
    health["b"] = "back"
    assert [await stage.ask(A, B, C) for _ in range(3)] == ["back"] * 3
    assert stage.sent == [("a", 0), ("b", 0), ("b", 0), ("b", 0)]


async def test_when_all_fail_each_is_named() -> None:
    stage = Stage(lambda provider, key: ModelUnavailable(f"{provider} is down"))
    with pytest.raises(ModelUnavailable, match="a is down; b is down"):
        await stage.ask(A, B)


async def test_a_budget_that_is_spent_ends_it_and_says_nothing_about_the_provider() -> None:
    stage = Stage(script(BudgetExceeded("budgets.run.tokens", "spent"), "ok"))
    with pytest.raises(BudgetExceeded):
        await stage.ask(A, B)
    assert stage.told == []
    assert await stage.ask(A) == "ok"


def spent(provider: str) -> ProviderBudgetExceeded:
    return ProviderBudgetExceeded(
        provider, f"providers.{provider}.daily_tokens", f"{provider} is spent", "wait until tomorrow"
    )


async def test_a_provider_over_its_budget_makes_way_for_the_next_at_once() -> None:
    stage = Stage(lambda provider, key: spent(provider) if provider in "ab" else "hello", keys=2)
    assert await stage.ask(A, B, C) == "hello"
    assert (stage.sent, stage.slept) == ([("a", 0), ("b", 0), ("c", 0)], [])
    assert [(told["failure"], told["move"], told["next"]) for told in stage.told] == [
        ("ProviderBudgetExceeded", "next_provider", "b/m"),
        ("ProviderBudgetExceeded", "next_provider", "c/m"),
    ]


async def test_when_all_are_over_their_budget_that_is_the_failure_and_names_them_all() -> None:
    stage = Stage(lambda provider, key: spent(provider))
    with pytest.raises(ProviderBudgetExceeded) as failed:
        await stage.ask(A, B)
    assert failed.value.cause == "a is spent; b is spent"
    assert [told["move"] for told in stage.told] == ["next_provider", "end"]


@pytest.mark.parametrize("broken", ["a", "b"])
async def test_a_budget_beside_an_outage_is_an_outage(broken: str) -> None:
    def play(provider: str, key: int) -> Outcome:
        return ModelUnavailable(f"{provider} is down") if provider == broken else spent(provider)

    with pytest.raises(ModelUnavailable) as failed:
        await Stage(play, limits=Limits(retries=0)).ask(A, B)
    assert failed.value.cause == "; ".join(
        f"{name} is down" if name == broken else f"{name} is spent" for name in "ab"
    )


async def test_a_spent_budget_is_no_failure_of_an_endpoint() -> None:
    outcomes: list[Outcome] = [*(spent("a") for _ in range(9)), "hello"]
    stage = Stage(script(*outcomes))
    for _ in range(9):
        with pytest.raises(ProviderBudgetExceeded):
            await stage.ask()
    assert await stage.ask() == "hello"


async def test_the_embedded_planner_is_never_left_alone() -> None:
    embedded = ModelRoute(provider="embedded", model="m", embedded=True)
    stage = Stage(script(*[DOWN] * 40, "well"))
    for _ in range(10):
        with pytest.raises(ModelUnavailable):
            await stage.ask(embedded)
    assert await stage.ask(embedded) == "well"


async def test_waiting_for_a_turn_puts_the_deadline_off() -> None:
    stage = Stage(script(DOWN, DOWN, "ok"))

    @asynccontextmanager
    async def admit(route: ModelRoute) -> AsyncIterator[None]:
        stage.now += 1000
        yield

    assert await stage.failover.serve((A,), stage.attempt, stage.told.append, 10, admit) == "ok"
    assert stage.moves == ["wait", "wait"]


@pytest.mark.parametrize("routes", [(A,), (A, B)], ids=["alone", "with another"])
async def test_a_provider_that_failed_while_a_call_waited_for_its_turn_is_not_asked(
    routes: tuple[ModelRoute, ...],
) -> None:
    stage = Stage(
        lambda provider, key: DOWN if provider == "a" else "ok",
        limits=Limits(retries=0),
        breaker=BreakerSettings(failures=1),
    )
    turn = asyncio.Event()

    @asynccontextmanager
    async def admit(route: ModelRoute) -> AsyncIterator[None]:
        if route == A:
            await turn.wait()
        yield

    waiting = asyncio.create_task(stage.failover.serve(routes, stage.attempt, stage.told.append, 10, admit))
    await asyncio.sleep(0)
    with pytest.raises(ModelUnavailable):
        await stage.ask()
    stage.sent.clear()
    stage.told.clear()
    turn.set()
    if routes == (A,):
        with pytest.raises(ProviderResting, match="left alone for 30 s"):
            await waiting
    else:
        assert await waiting == "ok"
    assert stage.sent == [("b", 0)] * (len(routes) - 1)
    assert stage.told[0]["move"] == ("end" if routes == (A,) else "next_provider")


async def test_another_key_is_taken_where_the_first_has_failed_meanwhile() -> None:
    stage = Stage(lambda provider, key: KEY if key == 0 else "ok", keys=2)
    turn = asyncio.Event()

    @asynccontextmanager
    async def admit(route: ModelRoute) -> AsyncIterator[None]:
        await turn.wait()
        yield

    waiting = asyncio.create_task(stage.failover.serve((A,), stage.attempt, stage.told.append, 10, admit))
    await asyncio.sleep(0)
    assert await stage.ask() == "ok"
    stage.sent.clear()
    turn.set()
    assert await waiting == "ok"
    assert stage.sent == [("a", 1)]
