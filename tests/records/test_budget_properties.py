"""Random histories of reservations, settlements and passing time, beside a plain model of them."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from planwright.domain.errors import BudgetExceeded, ProviderBudgetExceeded
from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.records.budget_usage import Amount, BudgetedCall
from planwright.records.budgets import Budgets
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.store.database import Database
from planwright.store.migrations import MIGRATIONS

TTL = 600
DAILY, MONTHLY, OF_RUN = 300, 500, 400
WITHIN = ProviderBudgetSettings(daily_tokens=DAILY, monthly_cost=Decimal(MONTHLY) / MICRO_CENTS_PER_DOLLAR)
RUNS, TENANTS, PROVIDERS = ("run_1", "run_2"), ("acme", "globex"), ("near", "far")
SPANS = st.sampled_from([1, TTL - 1, TTL, 7200, 86_400, 27 * 86_400])


@dataclass
class Held:
    """One call as the model remembers it."""

    run: str
    tenant: str
    provider: str
    at: datetime
    tokens: int
    cost: int
    settled: bool = False

    def counts(self, now: datetime) -> bool:
        """Whether it counts at a moment."""
        return self.settled or now < self.at + timedelta(seconds=TTL)


class Spending(RuleBasedStateMachine):
    """Reserve, settle, let time pass; the store and a list of calls have to agree."""

    reservations: Bundle[str] = Bundle("reservations")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="budgets-")
        self.database = Database(Path(self.folder.name) / "planwright.db", MIGRATIONS)
        self.budgets = Budgets(self.database, TTL)
        self.loop = asyncio.new_event_loop()
        self.now = datetime(2028, 2, 27, 23, 50, tzinfo=UTC)
        self.calls: dict[str, Held] = {}

    def teardown(self) -> None:
        """Close the store."""
        self.database.close()
        self.loop.close()
        self.folder.cleanup()

    def tokens_of_run(self, run: str) -> int:
        """Sum up a run, from the list."""
        return sum(c.tokens for c in self.calls.values() if c.run == run and c.counts(self.now))

    def of_provider(self, tenant: str, provider: str) -> tuple[int, int]:
        """Sum up the tokens of today and the cost of this month, from the list."""
        mine = [
            c
            for c in self.calls.values()
            if (c.tenant, c.provider) == (tenant, provider) and c.counts(self.now)
        ]
        today = sum(c.tokens for c in mine if c.at.date() == self.now.date())
        month = (self.now.year, self.now.month)
        return today, sum(c.cost for c in mine if (c.at.year, c.at.month) == month)

    @rule(
        target=reservations,
        run=st.sampled_from(RUNS),
        tenant=st.sampled_from(TENANTS),
        provider=st.sampled_from(PROVIDERS),
        tokens=st.integers(0, 150),
        cost=st.integers(0, 200),
    )
    def reserve(self, run: str, tenant: str, provider: str, tokens: int, cost: int) -> Any:
        """Reserve a call; it is granted exactly when the list says that it fits."""
        today, month = self.of_provider(tenant, provider)
        fits_run = not tokens or self.tokens_of_run(run) + tokens <= OF_RUN
        fits_provider = (not tokens or today + tokens <= DAILY) and (not cost or month + cost <= MONTHLY)
        asked = self.budgets.reserve(
            BudgetedCall(run, tenant, provider, "model", Amount(tokens, cost=cost)),
            RunBudgetSettings(tokens=OF_RUN),
            self.now,
            within=WITHIN,
        )
        if not (fits_run and fits_provider):
            expected = BudgetExceeded if not fits_run else ProviderBudgetExceeded
            with pytest.raises(expected) as refused:
                self.loop.run_until_complete(asked)
            assert type(refused.value) is expected
            return multiple()
        id_ = self.loop.run_until_complete(asked)
        self.calls[id_] = Held(run, tenant, provider, self.now, tokens, cost)
        return id_

    @rule(id_=consumes(reservations), share=st.integers(0, 100))
    def settle(self, id_: str, share: int) -> None:
        """Settle a call, also one whose reservation has expired: what was used is never lost."""
        call = self.calls[id_]
        call.tokens, call.cost, call.settled = call.tokens * share // 100, call.cost * share // 100, True
        self.loop.run_until_complete(self.budgets.settle(id_, Amount(call.tokens, cost=call.cost)))

    @rule(span=SPANS)
    def pass_time(self, span: int) -> None:
        """Let time pass: seconds, the life of a reservation, days, over the end of February."""
        self.now += timedelta(seconds=span)

    @invariant()
    def the_store_agrees(self) -> None:
        """Compare every sum."""
        for run in RUNS:
            spent = self.loop.run_until_complete(self.budgets.spent(run, self.now))
            assert spent.tokens == self.tokens_of_run(run)
        for tenant in TENANTS:
            for provider in PROVIDERS:
                found = self.loop.run_until_complete(
                    self.budgets.of_provider(tenant, provider, WITHIN, self.now)
                )
                assert tuple(limit.used for limit in found) == self.of_provider(tenant, provider)


TestSpending = Spending.TestCase
TestSpending.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
