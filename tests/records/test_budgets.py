"""Budgets: what is reserved counts, across threads and processes, until it is settled or expires."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from planwright.domain.errors import BudgetExceeded
from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.records.budget_usage import Amount, BudgetedCall, Spent
from planwright.records.budgets import Budgets
from planwright.settings.agents import RunBudgetSettings
from planwright.store.database import Database
from planwright.store.migrations import MIGRATIONS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TTL = 600
NO_LIMITS = RunBudgetSettings()


def limits(**given: object) -> RunBudgetSettings:
    return RunBudgetSettings.model_validate(given)


@pytest.fixture
def budgets(tmp_path: Path) -> Iterator[Budgets]:
    database = Database(tmp_path / "planwright.db", MIGRATIONS)
    yield Budgets(database, TTL)
    database.close()


async def reserve(
    budgets: Budgets, amount: Amount, within: RunBudgetSettings, run_id: str = "run_1", at: datetime = NOW
) -> str:
    return await budgets.reserve(BudgetedCall(run_id, "acme", "openai", "model", amount), within, at)


def test_8_threads_on_2_stores_with_50_reservations_each_never_overspend(tmp_path: Path) -> None:
    databases = [Database(tmp_path / "planwright.db", MIGRATIONS) for _ in range(2)]
    for database in databases:
        database.call("open", lambda c: c.execute("SELECT 1").fetchone()[0])
    within = limits(tokens=1000, tool_calls=120)

    async def spend(budgets: Budgets) -> int:
        granted = 0
        for n in range(50):
            try:
                kept = await reserve(budgets, Amount(tokens=10, calls=1), within)
            except BudgetExceeded:
                continue
            granted += 1
            if n % 2:
                await budgets.settle(kept, Amount(tokens=10, calls=1))
        return granted

    with ThreadPoolExecutor(8) as pool:
        granted = list(pool.map(lambda n: asyncio.run(spend(Budgets(databases[n % 2], TTL))), range(8)))
    spent = asyncio.run(Budgets(databases[0], TTL).spent("run_1", NOW))
    for database in databases:
        database.close()
    assert sum(granted) == 100
    assert (spent.tokens, spent.calls) == (1000, 100)


@pytest.mark.parametrize(
    ("within", "amount", "name"),
    [
        (limits(tokens=100), Amount(tokens=101), "tokens"),
        (limits(tool_calls=0), Amount(calls=1), "tool_calls"),
        (limits(cost="0.01"), Amount(cost=1_000_001), "cost"),
        (limits(tokens=1, cost="0.01"), Amount(cost=1_000_001), "cost"),
    ],
    ids=["tokens", "calls", "cost", "only the limit that is reached"],
)
async def test_a_call_that_would_overspend_is_refused_by_the_name_of_the_limit(
    budgets: Budgets, within: RunBudgetSettings, amount: Amount, name: str
) -> None:
    with pytest.raises(BudgetExceeded) as refused:
        await reserve(budgets, amount, within)
    assert refused.value.limit == f"budgets.run.{name}"
    assert f"raise budgets.run.{name}" in refused.value.next_step
    assert await budgets.spent("run_1", NOW) == Spent(0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("within", "amount"),
    [
        (limits(tokens=100), Amount(tokens=100)),
        (limits(tool_calls=1), Amount(calls=1)),
        (limits(cost="0.01"), Amount(cost=1_000_000)),
        (limits(cost="0"), Amount(tokens=5, cost=0)),
        (limits(tokens=5), Amount(tokens=5, cost=None)),
        (NO_LIMITS, Amount(tokens=10**12, calls=10**6, cost=10**15)),
    ],
    ids=["tokens", "calls", "cost", "free", "unpriced", "no limits"],
)
async def test_a_call_that_just_fits_is_let_through(
    budgets: Budgets, within: RunBudgetSettings, amount: Amount
) -> None:
    assert await reserve(budgets, amount, within)


async def test_a_settled_call_counts_what_it_used_and_frees_the_rest(budgets: Budgets) -> None:
    within = limits(tokens=100)
    first = await reserve(budgets, Amount(tokens=100), within)
    with pytest.raises(BudgetExceeded):
        await reserve(budgets, Amount(tokens=1), within)
    await budgets.settle(first, Amount(tokens=40))
    await reserve(budgets, Amount(tokens=60), within)
    assert (await budgets.spent("run_1", NOW)).tokens == 100


async def test_a_reservation_that_nobody_settles_expires(budgets: Budgets) -> None:
    within = limits(tokens=100)
    await reserve(budgets, Amount(tokens=100), within)
    with pytest.raises(BudgetExceeded):
        await reserve(budgets, Amount(tokens=100), within, at=NOW + timedelta(seconds=TTL - 1))
    assert await reserve(budgets, Amount(tokens=100), within, at=NOW + timedelta(seconds=TTL))


async def test_a_reservation_is_kept_for_as_long_as_its_call_may_last(budgets: Budgets) -> None:
    within = limits(tokens=100)
    all_of_it = Amount(tokens=100)
    slow = BudgetedCall("run_1", "acme", "slow", "model", all_of_it, lasts_s=2 * TTL)
    await budgets.reserve(slow, within, NOW)
    with pytest.raises(BudgetExceeded):
        await reserve(budgets, all_of_it, within, at=NOW + timedelta(seconds=2 * TTL - 1))
    assert await reserve(budgets, all_of_it, within, at=NOW + timedelta(seconds=2 * TTL))


async def test_what_is_settled_never_expires(budgets: Budgets) -> None:
    await budgets.settle(await reserve(budgets, Amount(tokens=100), NO_LIMITS), Amount(tokens=100))
    assert (await budgets.spent("run_1", NOW + timedelta(days=365))).tokens == 100


async def test_runs_do_not_spend_each_others_budget(budgets: Budgets) -> None:
    await reserve(budgets, Amount(tokens=100), limits(tokens=100), "run_1")
    await reserve(budgets, Amount(tokens=100), limits(tokens=100), "run_2")
    assert (await budgets.spent("run_3", NOW)).tokens == 0


async def test_a_call_of_unknown_price_is_counted_as_unpriced_and_not_as_free(budgets: Budgets) -> None:
    for cost in (None, 0, 250):
        kept = await reserve(budgets, Amount(tokens=1, cost=cost), NO_LIMITS)
        await budgets.settle(kept, Amount(tokens=1, cost=cost))
    spent = await budgets.spent("run_1", NOW)
    assert (spent.cost, spent.model_calls, spent.unpriced) == (250, 3, 1)


async def test_a_tenth_of_a_cent_is_not_lost_to_rounding(budgets: Budgets) -> None:
    within = RunBudgetSettings(tokens=None, tool_calls=None, cost=Decimal("0.003"))
    each = MICRO_CENTS_PER_DOLLAR // 1000
    for _ in range(3):
        await reserve(budgets, Amount(cost=each), within)
    with pytest.raises(BudgetExceeded, match=r"\$0\.003 used, \$0\.00 more needed"):
        await reserve(budgets, Amount(cost=1), within)
