"""One process that spends: it reserves, settles, and is killed in between where its order says so.

The calls of a worker follow from the seed of its trial, so whoever looks afterwards knows them, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Literal

from planwright.domain.errors import BudgetExceeded
from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.records.budget_usage import Amount, BudgetedCall
from planwright.records.budgets import Budgets
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.store.database import Database
from planwright.store.migrations import MIGRATIONS

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TTL_S = 600
RUN, TENANT, PROVIDER = "run_1", "acme", "local"
BUSY_S = 120  # twenty processes and one file: whoever is last in the queue waits for a while
Kind = Literal["run tokens", "daily tokens", "monthly cost"]
KINDS: tuple[Kind, ...] = ("run tokens", "daily tokens", "monthly cost")


@dataclass(frozen=True)
class Order:
    """What a worker does; `dies_at` is the call whose reservation it leaves behind."""

    store: Path
    kind: Kind
    most: int
    seed: str
    calls: int
    report: Path
    dies_at: int | None = None


def spend(order: Order) -> None:
    """Make the calls of an order, and report which were granted and which refused."""
    database = Database(order.store, MIGRATIONS, busy_timeout_s=BUSY_S)
    granted, refused = asyncio.run(_spend(Budgets(database, TTL_S), order))
    database.close()
    order.report.write_text(json.dumps({"granted": granted, "refused": refused}))


async def _spend(budgets: Budgets, order: Order) -> tuple[list[int], list[int]]:
    granted, refused = [], []
    for number, (worst, actual) in enumerate(amounts(order.seed, order.calls)):
        reservation = await reserve(budgets, order.kind, order.most, worst, NOW)
        if reservation is None:
            refused.append(number)
            continue
        if number == order.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        await budgets.settle(reservation, amount(order.kind, actual))
        granted.append(number)
    return granted, refused


def amounts(seed: str, calls: int) -> Iterator[tuple[int, int]]:
    """Make up what each call may use at most, and what it uses."""
    rng = random.Random(seed)
    for _ in range(calls):
        worst = rng.randint(50, 150)
        yield worst, rng.randint(1, worst)


async def reserve(budgets: Budgets, kind: Kind, most: int, worst: int, at: datetime) -> str | None:
    """Reserve one call under the one limit of a trial; None when it is refused."""
    limits = RunBudgetSettings(tokens=most) if kind == "run tokens" else RunBudgetSettings()
    try:
        return await budgets.reserve(
            BudgetedCall(RUN, TENANT, PROVIDER, "model", amount(kind, worst)),
            limits,
            at,
            within=within(kind, most),
        )
    except BudgetExceeded:
        return None


def within(kind: Kind, most: int) -> ProviderBudgetSettings:
    """Put a limit on the provider, unless the limit is the run's."""
    if kind == "daily tokens":
        return ProviderBudgetSettings(daily_tokens=most)
    if kind == "monthly cost":
        return ProviderBudgetSettings(monthly_cost=Decimal(most) / MICRO_CENTS_PER_DOLLAR)
    return ProviderBudgetSettings()


def amount(kind: Kind, used: int) -> Amount:
    """Count in tokens, or in micro-cents where the limit is one of cost."""
    return Amount(cost=used) if kind == "monthly cost" else Amount(tokens=used, cost=0)
