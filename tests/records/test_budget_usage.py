"""What a run has used is counted in memory by whoever holds its lease, exactly as the store counts it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planwright.domain.errors import BudgetExceeded, ProviderBudgetExceeded
from planwright.domain.lease import Lease
from planwright.records.budget_usage import Amount, BudgetedCall, RunUsage, UsageRow, run_usage
from planwright.records.budgets import Budgets
from planwright.records.runs import Run
from planwright.records.stores import Stores
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.state.loop_budget import LoopBudget

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
UNLIMITED = RunBudgetSettings(tool_calls=None)
LANES = ("", "a", "a/b", "ab")
Spending = tuple[str, int, int | None, str, bool]
CALLS: st.SearchStrategy[Spending] = st.tuples(
    st.sampled_from(("model", "tool")),
    st.integers(0, 50),
    st.sampled_from((None, 0, 7)),
    st.sampled_from(LANES),
    st.booleans(),
)


def call(kind: str, amount: Amount, lane: str = "") -> BudgetedCall:
    lanes = (LoopBudget(lane=lane, tokens=None, tool_calls=None),) if lane else ()
    return BudgetedCall("run_1", "acme", "local", kind, amount, lanes)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(CALLS, max_size=12))
def test_memory_and_store_agree(stores: Stores, lease: Lease, calls: list[Spending]) -> None:
    async def spend() -> None:
        for kind, tokens, cost, lane, settles in calls:
            amount = Amount(int(str(tokens)), int(kind == "tool"), cost and int(str(cost)))
            kept = await stores.budgets.reserve(
                call(str(kind), amount, str(lane)), UNLIMITED, NOW, lease=lease
            )
            if settles:
                await stores.budgets.settle(kept, Amount(3, amount.calls, 1), lease)

    asyncio.run(spend())
    counted = asyncio.run(stores.budgets.spent_by(lease, NOW))
    assert asyncio.run(stores.budgets.spent("run_1", NOW)) == counted
    written = stores.database.call("read", lambda c: run_usage(c, "run_1"))
    later = (NOW + timedelta(days=1)).timestamp()
    for lane in LANES:
        for now in (NOW.timestamp(), later):
            assert written.spent(now, lane) == stores.budgets._leased[lease].spent(now, lane)


async def test_a_limit_of_the_run_holds_before_anything_is_committed(stores: Stores, lease: Lease) -> None:
    limits, name = RunBudgetSettings(tool_calls=2), call("tool", Amount(calls=1))
    for id_ in ("one", "two", "two"):  # the same id again costs nothing
        await stores.budgets.reserve(name, limits, NOW, id_=id_, lease=lease)
    with pytest.raises(BudgetExceeded, match="tool_calls"):
        await stores.budgets.reserve(name, limits, NOW, id_="three", lease=lease)


async def test_who_takes_the_run_next_counts_on(
    stores: Stores, lease: Lease, make_run: Callable[..., Run]
) -> None:
    limits, name = RunBudgetSettings(tokens=100), call("model", Amount(tokens=60))
    kept = await stores.budgets.reserve(name, limits, NOW, lease=lease)
    await stores.budgets.settle(kept, Amount(tokens=50), lease)
    await stores.budgets.reserve(call("model", Amount(tokens=40)), limits, NOW, lease=lease)
    await stores.leases.release(lease)
    again = await stores.leases.take(make_run(), 60)  # what was only reserved counts in full
    budgets = Budgets(stores.database)
    assert (await budgets.spent_by(again, NOW)).tokens == 90
    with pytest.raises(BudgetExceeded):
        await budgets.reserve(call("model", Amount(tokens=11)), limits, NOW, lease=again)
    await budgets.reserve(call("model", Amount(tokens=10)), limits, NOW, lease=again)


async def test_a_reservation_that_a_provider_refuses_leaves_nothing_behind(
    stores: Stores, lease: Lease
) -> None:
    within, name = ProviderBudgetSettings(daily_tokens=10), call("model", Amount(tokens=11, cost=0))
    with pytest.raises(ProviderBudgetExceeded):
        await stores.budgets.reserve(name, UNLIMITED, NOW, within=within, id_="a", lease=lease)
    assert (await stores.budgets.spent_by(lease, NOW)).model_calls == 0


def test_what_is_settled_twice_or_was_never_reserved_changes_nothing() -> None:
    usage = RunUsage([UsageRow("a", "model", Amount(9), 1e12)])
    usage.settle("a", Amount(5))
    usage.settle("a", Amount(7))
    usage.settle("b", Amount(7))
    usage.drop("a")
    assert (usage.spent(0).tokens, "a" in usage, "b" in usage) == (5, True, False)
