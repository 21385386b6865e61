"""Tokens under a limit a day, and time under a limit a run, while somebody turns the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from benchmarks.simulated_worker import Stage, Worker
from planwright.domain.clock import day_of
from planwright.domain.errors import BudgetExceeded
from planwright.records.budget_usage import Amount, BudgetedCall
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.provider_budget import ProviderBudgetSettings

DAILY, CALL, CALLS = 1000, 300, 12
LASTS_S = 10_000.0  # longer than the machine sleeps
WORK_S = 24 * 3600.0  # what a run may be worked on
TENANT, PROVIDER = "default", "metered"


def spend(stage: Stage) -> None:
    """Let every worker spend beside its work."""
    for worker in stage.workers:
        worker.loop.create_task(_spend(stage, worker))


async def _spend(stage: Stage, worker: Worker) -> None:
    world, budgets = stage.world, worker.agent.stores.budgets
    within = ProviderBudgetSettings(daily_tokens=DAILY)
    for _ in range(CALLS):
        await asyncio.sleep(world.chance.uniform(0, 5))
        now = worker.agent.stores.time.now()
        stage.days.add(str(day_of(now)))
        try:
            reservation = await budgets.reserve(
                BudgetedCall("spender", TENANT, PROVIDER, "model", Amount(CALL), lasts_s=LASTS_S),
                RunBudgetSettings(),
                now,
                within=within,
            )
        except BudgetExceeded:
            stage.count("over budget")
            continue
        await asyncio.sleep(world.chance.uniform(0, 5))
        await budgets.settle(reservation, Amount(CALL))


def overspent(stage: Stage) -> Iterator[str]:
    """Say on which days more was spent than a day may have, and whether there were more than on the clock."""
    query = "SELECT day, tokens FROM usage_days WHERE provider = ?"
    days = stage.rows(query, PROVIDER)
    yield from (f"{day['tokens']} tokens were spent on {day['day']}" for day in days if day["tokens"] > DAILY)
    if len(days) > len(stage.days):
        yield f"{len(days)} days have a budget, and the clock showed {len(stage.days)}"


def timed_out(stage: Stage) -> Iterator[str]:
    """Say which runs used up their time, where not so much time has gone by at all."""
    late = stage.rows("SELECT run_id FROM runs WHERE status = 'timeout'")
    if stage.world.now < WORK_S:
        yield from (f"{run['run_id']} timed out after {stage.world.now:.0f} s at most" for run in late)
