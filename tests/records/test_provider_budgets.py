"""What a provider may be used for: by day and month, by tenant, across processes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from planwright.domain.errors import BudgetExceeded, ProviderBudgetExceeded
from planwright.domain.lease import Lease
from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.records.budget_usage import Amount, BudgetedCall
from planwright.records.budgets import Budgets
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.store.database import Database
from planwright.store.migrations import MIGRATIONS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TTL = 600
DOLLAR = MICRO_CENTS_PER_DOLLAR
HUNDRED = ProviderBudgetSettings(daily_tokens=100)
LEASE = Lease("acme", "thread_1", "run_1", 1)


@pytest.fixture
def budgets(tmp_path: Path) -> Iterator[Budgets]:
    database = Database(tmp_path / "planwright.db", MIGRATIONS)
    yield Budgets(database, TTL)
    database.close()


def limits(**given: object) -> ProviderBudgetSettings:
    return ProviderBudgetSettings.model_validate(given)


async def reserve(
    budgets: Budgets,
    amount: Amount,
    within: ProviderBudgetSettings,
    *,
    at: datetime = NOW,
    run: str = "run_1",
    tenant: str = "acme",
    provider: str = "local",
    run_limits: RunBudgetSettings | None = None,
) -> str:
    chosen = run_limits or RunBudgetSettings()
    return await budgets.reserve(
        BudgetedCall(run, tenant, provider, "model", amount), chosen, at, within=within
    )


async def use(budgets: Budgets, amount: Amount, at: datetime = NOW, **more: str) -> None:
    await budgets.settle(await reserve(budgets, amount, ProviderBudgetSettings(), at=at, **more), amount)  # type: ignore[arg-type]


async def fits(
    budgets: Budgets, amount: Amount, within: ProviderBudgetSettings, at: datetime, **more: str
) -> bool:
    try:
        kept = await reserve(budgets, amount, within, at=at, **more)  # type: ignore[arg-type]
    except ProviderBudgetExceeded:
        return False
    await budgets.settle(kept, Amount(cost=0))
    return True


@pytest.mark.parametrize(
    ("within", "amount", "name", "says"),
    [
        (
            limits(daily_tokens=100),
            Amount(tokens=101, cost=0),
            "daily_tokens",
            "provider local may use 100 tokens a day: 0 tokens used in 2026-11-21 (UTC),"
            " 101 tokens more needed",
        ),
        (
            limits(monthly_cost="0.01"),
            Amount(cost=1_000_001),
            "monthly_cost",
            "provider local may use $0.01 a month: $0.00 used in 2026-11 (UTC), $0.01 more needed",
        ),
        (
            limits(daily_tokens=0, monthly_cost=9),
            Amount(tokens=1, cost=1),
            "daily_tokens",
            "provider local may use 0 tokens a day: 0 tokens used in 2026-11-21 (UTC), 1 tokens more needed",
        ),
    ],
    ids=["tokens a day", "cost a month", "none at all"],
)
async def test_a_call_over_a_limit_is_refused_by_provider_and_limit(
    budgets: Budgets, within: ProviderBudgetSettings, amount: Amount, name: str, says: str
) -> None:
    with pytest.raises(ProviderBudgetExceeded) as refused:
        await reserve(budgets, amount, within)
    assert (refused.value.provider, refused.value.limit) == ("local", f"providers.local.{name}")
    assert refused.value.cause == says
    assert refused.value.exit_code == 6
    assert (await budgets.spent("run_1", NOW)).model_calls == 0


@pytest.mark.parametrize(
    ("within", "until"),
    [(HUNDRED, "2026-11-22"), (limits(monthly_cost=0), "2026-12-01")],
    ids=["day", "month"],
)
async def test_a_refusal_says_when_the_provider_serves_again(
    budgets: Budgets, within: ProviderBudgetSettings, until: str
) -> None:
    with pytest.raises(ProviderBudgetExceeded) as refused:
        await reserve(budgets, Amount(tokens=101, cost=1), within)
    assert refused.value.next_step.startswith(f"wait until {until} 00:00 UTC, or raise providers.local.")


async def test_what_just_fits_is_let_through(budgets: Budgets) -> None:
    await reserve(budgets, Amount(tokens=100, cost=DOLLAR), limits(daily_tokens=100, monthly_cost=1))


@pytest.mark.parametrize(
    ("within", "run_limits", "setting"),
    [
        (limits(monthly_cost=100), RunBudgetSettings(), "providers.local.monthly_cost"),
        (limits(), RunBudgetSettings.model_validate({"cost": 100}), "budgets.run.cost"),
    ],
    ids=["of the provider", "of the run"],
)
async def test_an_unknown_price_is_refused_where_the_cost_is_limited(
    budgets: Budgets, within: ProviderBudgetSettings, run_limits: RunBudgetSettings, setting: str
) -> None:
    with pytest.raises(ProviderBudgetExceeded) as refused:
        await reserve(budgets, Amount(tokens=1, cost=None), within, run_limits=run_limits)
    assert (refused.value.provider, refused.value.limit) == ("local", setting)
    assert refused.value.cause == f"nobody knows what provider local charges, and {setting} limits the cost"
    assert "providers.local.prices = {input_per_million = …" in refused.value.next_step


async def test_an_unknown_price_is_let_through_where_only_tokens_are_limited(budgets: Budgets) -> None:
    await reserve(budgets, Amount(tokens=1, cost=None), limits(daily_tokens=1))


async def test_a_call_of_a_capability_has_no_price_and_no_provider(budgets: Budgets) -> None:
    one, run = Amount(calls=1), RunBudgetSettings.model_validate({"cost": 0})
    assert await budgets.reserve(BudgetedCall("run_1", "acme", "files.read", "tool", one), run, NOW)


async def test_the_limit_of_a_run_ends_it_before_its_provider_is_benched(budgets: Budgets) -> None:
    with pytest.raises(BudgetExceeded) as refused:
        await reserve(budgets, Amount(tokens=101, cost=0), HUNDRED, run_limits=RunBudgetSettings(tokens=100))
    assert not isinstance(refused.value, ProviderBudgetExceeded)
    assert refused.value.limit == "budgets.run.tokens"


DAY_TURNS = (
    ("2026-11-21T23:59:59.999999+00:00", "2026-11-21T23:59:59.999999+00:00", False),
    ("2026-11-21T23:59:59.999999+00:00", "2026-11-22T00:00:00+00:00", True),
    ("2026-11-21T00:00:00+00:00", "2026-11-21T23:59:59+00:00", False),
    ("2026-11-20T23:59:59+00:00", "2026-11-21T00:00:00+00:00", True),
    ("2028-02-29T12:00:00+00:00", "2028-02-29T23:59:59+00:00", False),
    ("2028-02-29T12:00:00+00:00", "2028-03-01T00:00:00+00:00", True),
    ("2026-11-21T20:00:00-05:00", "2026-11-22T03:00:00+00:00", False),
)


@pytest.mark.parametrize(("used_at", "asked_at", "room"), DAY_TURNS)
async def test_tokens_count_on_the_day_they_were_used(
    budgets: Budgets, used_at: str, asked_at: str, room: bool
) -> None:
    await use(budgets, Amount(tokens=100, cost=0), datetime.fromisoformat(used_at))
    assert await fits(budgets, Amount(tokens=1, cost=0), HUNDRED, datetime.fromisoformat(asked_at)) == room


MONTH_TURNS = (
    ("2026-11-30T23:59:59+00:00", "2026-11-01T00:00:00+00:00", False),
    ("2026-11-30T23:59:59+00:00", "2026-12-01T00:00:00+00:00", True),
    ("2026-12-31T23:59:59+00:00", "2027-01-01T00:00:00+00:00", True),
    ("2028-02-01T00:00:00+00:00", "2028-02-29T23:59:59+00:00", False),
    ("2028-02-29T23:59:59+00:00", "2028-03-01T00:00:00+00:00", True),
    ("2027-02-28T23:59:59+00:00", "2027-03-01T00:00:00+00:00", True),
    ("2026-11-21T00:00:00+00:00", "2027-11-21T00:00:00+00:00", True),
)


@pytest.mark.parametrize(("used_at", "asked_at", "room"), MONTH_TURNS)
async def test_cost_counts_in_the_month_it_was_made(
    budgets: Budgets, used_at: str, asked_at: str, room: bool
) -> None:
    await use(budgets, Amount(cost=DOLLAR), datetime.fromisoformat(used_at))
    one = limits(monthly_cost=1)
    assert await fits(budgets, Amount(cost=1), one, datetime.fromisoformat(asked_at)) == room


async def test_a_call_over_midnight_counts_on_the_day_it_began(budgets: Budgets) -> None:
    evening = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
    await budgets.settle(await reserve(budgets, Amount(tokens=100, cost=0), HUNDRED, at=evening), Amount(60))
    (today,) = await budgets.of_provider("acme", "local", HUNDRED, evening)
    (tomorrow,) = await budgets.of_provider("acme", "local", HUNDRED, evening + timedelta(seconds=1))
    assert (today.used, tomorrow.used) == (60, 0)


@pytest.mark.parametrize(
    ("other", "room"), [({"tenant": "globex"}, True), ({"provider": "far"}, True), ({}, False)]
)
async def test_tenants_and_providers_are_apart_from_each_other(
    budgets: Budgets, other: dict[str, str], room: bool
) -> None:
    await use(budgets, Amount(tokens=100, cost=0))
    assert await fits(budgets, Amount(tokens=1, cost=0), HUNDRED, NOW, run="run_2", **other) == room


async def test_the_runs_of_a_tenant_share_its_limit(budgets: Budgets) -> None:
    await use(budgets, Amount(tokens=60, cost=0), run="run_1")
    await use(budgets, Amount(tokens=30, cost=0), run="run_2")
    (limit,) = await budgets.of_provider("acme", "local", HUNDRED, NOW)
    assert (limit.used, limit.left, limit.reached) == (90, 10, False)


async def test_a_reservation_counts_until_it_expires(budgets: Budgets) -> None:
    await reserve(budgets, Amount(tokens=100, cost=0), HUNDRED)
    for later, room in ((TTL - 1, False), (TTL, True)):
        assert await fits(budgets, Amount(tokens=1, cost=0), HUNDRED, NOW + timedelta(seconds=later)) == room


async def test_calls_of_capabilities_are_no_tokens_of_a_provider(budgets: Budgets) -> None:
    await budgets.reserve(
        BudgetedCall("run_1", "acme", "local", "tool", Amount(tokens=100, calls=1)), RunBudgetSettings(), NOW
    )
    assert await fits(budgets, Amount(tokens=100, cost=0), HUNDRED, NOW)


@pytest.mark.parametrize(("used", "near"), [(79, False), (80, True), (100, True), (120, True)])
async def test_a_limit_is_near_from_80_percent_on(budgets: Budgets, used: int, near: bool) -> None:
    await use(budgets, Amount(tokens=used, cost=0))
    found = await budgets.near(LEASE, RunBudgetSettings(tokens=100), NOW, "local", HUNDRED)
    expected = ["budgets.run.tokens", "providers.local.daily_tokens"] if near else []
    assert [limit.setting for limit in found] == expected


async def test_what_is_only_reserved_is_no_reason_to_warn(budgets: Budgets) -> None:
    await reserve(budgets, Amount(tokens=100, cost=0), HUNDRED)
    assert await budgets.near(LEASE, RunBudgetSettings(tokens=100), NOW, "local", HUNDRED) == []


async def test_a_limit_of_nothing_is_not_near_before_anything_is_used(budgets: Budgets) -> None:
    assert await budgets.near(LEASE, RunBudgetSettings(tokens=0), NOW) == []


def test_threads_on_several_stores_never_overspend_a_day(tmp_path: Path) -> None:
    databases = [Database(tmp_path / "planwright.db", MIGRATIONS) for _ in range(3)]
    for database in databases:
        database.call("open", lambda c: c.execute("SELECT 1").fetchone()[0])
    within = limits(daily_tokens=1000)

    async def spend(number: int) -> int:
        budgets, granted = Budgets(databases[number % 3], TTL), 0
        for _ in range(30):
            try:
                kept = await reserve(budgets, Amount(tokens=20, cost=0), within, run=f"run_{number}")
            except ProviderBudgetExceeded:
                continue
            granted += 1
            await budgets.settle(kept, Amount(tokens=10, cost=0))
        return granted

    with ThreadPoolExecutor(6) as pool:
        granted = sum(pool.map(lambda n: asyncio.run(spend(n)), range(6)))
    (limit,) = asyncio.run(Budgets(databases[0], TTL).of_provider("acme", "local", within, NOW))
    for database in databases:
        database.close()
    assert limit.used == 10 * granted
    assert 980 < limit.used <= 1000


async def test_what_is_settled_twice_counts_once(budgets: Budgets) -> None:
    kept = await reserve(budgets, Amount(tokens=100, cost=0), HUNDRED)
    for used in (40, 60):
        await budgets.settle(kept, Amount(tokens=used, cost=0))
    (limit,) = await budgets.of_provider("acme", "local", HUNDRED, NOW)
    assert (limit.used, (await budgets.spent("run_1", NOW)).tokens) == (40, 40)


def test_no_sum_of_a_window_walks_over_the_calls(tmp_path: Path) -> None:
    database = Database(tmp_path / "planwright.db", MIGRATIONS)
    asked: list[str] = []
    database.call("open", lambda _: None)
    database.look(lambda c: c.set_trace_callback(asked.append))
    both = limits(daily_tokens=1, monthly_cost=1)
    asyncio.run(Budgets(database, TTL).of_provider("acme", "local", both, NOW))
    database.look(lambda c: c.set_trace_callback(None))
    sums = [query for query in asked if "sum(tokens)" in query]

    def explain(connection: sqlite3.Connection) -> list[str]:
        rows = [row for query in sums for row in connection.execute(f"EXPLAIN QUERY PLAN {query}")]
        return [row[3] for row in rows if "usage" in row[3]]

    found = database.call("plan", explain)
    database.close()
    assert len(found) == 4
    assert sum("usage_days USING INDEX" in plan for plan in found) == 2
    assert sum("usage USING INDEX usage_reserved" in plan for plan in found) == 2


@pytest.mark.parametrize("back", [timedelta(hours=13), timedelta(days=1), timedelta(days=5)], ids=str)
async def test_a_clock_that_is_set_back_opens_no_day_a_second_time(budgets: Budgets, back: timedelta) -> None:
    await use(budgets, Amount(70), at=NOW - back)
    await use(budgets, Amount(70), at=NOW)
    assert not await fits(budgets, Amount(40), HUNDRED, NOW - back)
    assert await fits(budgets, Amount(30), HUNDRED, NOW - back)
    assert await fits(budgets, Amount(100), HUNDRED, NOW + timedelta(days=1))


async def test_a_day_that_a_broken_clock_has_counted_far_ahead_holds_nothing_up(budgets: Budgets) -> None:
    await use(budgets, Amount(70), at=NOW + timedelta(days=4000))
    assert await fits(budgets, Amount(100), HUNDRED, NOW)
