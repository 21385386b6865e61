"""Budgets: reserve before a call, settle after it, in one transaction across processes.

What a call uses counts in the day and month (UTC) in which it was reserved, for its tenant. A reservation
that nobody settles, because its process died, comes back when its run is taken by another, or it expires.
"""

from __future__ import annotations

import math
import sqlite3
import uuid
from collections.abc import Sequence
from datetime import datetime

from planwright.checkpoints.budget_usage import (
    Amount,
    BudgetedCall,
    Spent,
    counted_at,
    provider_limits,
    run_limits,
    usage_sum,
)
from planwright.checkpoints.database import Database
from planwright.checkpoints.limits import MICRO_CENTS_PER_DOLLAR as MICRO_CENTS_PER_DOLLAR
from planwright.checkpoints.limits import Limit, Unit, refuse_overspending, say, unpriced
from planwright.checkpoints.ownership.fencing import held
from planwright.domain.errors import BudgetExceeded
from planwright.domain.lease import Lease
from planwright.domain.windows import utc_text
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.state.loop_budget import LoopBudget, carve

AFTER_ALL = math.inf  # when every reservation has expired, and only what is settled counts


class Budgets:
    """The table of reservations and settled usage."""

    def __init__(self, database: Database, reservation_ttl_s: float = 600) -> None:
        self._database = database
        self._ttl_s = reservation_ttl_s

    async def reserve(
        self,
        call: BudgetedCall,
        limits: RunBudgetSettings,
        at: datetime,
        *,
        within: ProviderBudgetSettings | None = None,
        id_: str | None = None,
        lease: Lease | None = None,
    ) -> str:
        """Set aside the worst case of a call and return the reservation's id.

        The same id again, after a crash, is the same call and costs nothing more. `within` are the
        limits of the provider that is asked. What is called outside of a run has no lease.

        Raises BudgetExceeded, naming the limit, when what is left does not cover the call;
        ProviderBudgetExceeded when another provider might still serve: a limit of this one is reached, or
        its price is unknown where a limit of cost is set.
        """
        id_ = id_ or uuid.uuid4().hex
        run_id, tenant, provider, amount = call.run_id, call.tenant, call.provider, call.amount

        def job(connection: sqlite3.Connection) -> None:
            if connection.execute("SELECT 1 FROM usage WHERE id = ?", (id_,)).fetchone():
                return
            now, counted = at.timestamp(), utc_text(counted_at(connection, tenant, provider, at))
            refuse_overspending(run_limits(connection, run_id, limits, now), _by_unit(amount))
            for lane in call.lanes:
                _refuse_in_lane(usage_sum(connection, run_id, now, lane.lane), amount, lane)
            if call.kind == "model":
                _refuse_unpriced(provider, amount, limits, within)
                refuse_overspending(
                    provider_limits(connection, tenant, provider, within, at), _by_unit(amount)
                )
            connection.execute(
                "INSERT INTO usage (id, tenant, run_id, provider, kind, tokens, cost, calls, settled,"
                " expires_at, at, lane) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                (id_, tenant, run_id, provider, call.kind, amount.tokens, amount.cost, amount.calls)
                + (
                    call.kind == "tool",
                )  # a call uses up one call whatever it brings: nothing is left to settle
                + (now + max(self._ttl_s, call.lasts_s), counted, call.lanes[-1].lane if call.lanes else ""),
            )

        await self._database.run("reserve", held(lease, job))
        return id_

    async def settle(self, reservation: str, actual: Amount, lease: Lease | None = None) -> None:
        """Replace a reservation, once, by what the call really used."""

        def job(connection: sqlite3.Connection) -> None:
            held = connection.execute(
                "SELECT kind, tenant, provider, substr(at, 1, 10) AS day FROM usage WHERE id=? AND settled=0",
                (reservation,),
            ).fetchone()
            if held is None:
                return
            connection.execute(
                "UPDATE usage SET tokens=?, cost=?, calls=?, settled=1 WHERE id=?",
                (actual.tokens, actual.cost, actual.calls, reservation),
            )
            if held["kind"] == "model":
                connection.execute(
                    "INSERT INTO usage_days (tenant, provider, day, tokens, cost) VALUES (?,?,?,?,?)"
                    " ON CONFLICT (tenant, provider, day) DO UPDATE SET"
                    " tokens = tokens + excluded.tokens, cost = cost + excluded.cost",
                    (held["tenant"], held["provider"], held["day"], actual.tokens, actual.cost or 0),
                )

        await self._database.run("settle", held(lease, job))

    async def spent(self, run_id: str, at: datetime) -> Spent:
        """Sum up what a run has used and still holds in reserve."""
        return await self._database.run("read", lambda c: usage_sum(c, run_id, at.timestamp()))

    async def of_run(self, run_id: str, limits: RunBudgetSettings, at: datetime) -> list[Limit]:
        """Say how the limits of a run stand, reservations included."""
        return await self._database.run("read", lambda c: run_limits(c, run_id, limits, at.timestamp()))

    async def of_provider(
        self, tenant: str, provider: str, within: ProviderBudgetSettings, at: datetime
    ) -> list[Limit]:
        """Say how the limits of a provider stand for a tenant, reservations included."""
        return await self._database.run("read", lambda c: provider_limits(c, tenant, provider, within, at))

    async def near(
        self,
        run_id: str,
        limits: RunBudgetSettings,
        at: datetime,
        tenant: str = "",
        provider: str = "",
        within: ProviderBudgetSettings | None = None,
    ) -> list[Limit]:
        """List the limits of a run, and of a provider, of which 80 % is used; what is reserved is not."""

        def job(connection: sqlite3.Connection) -> list[Limit]:
            own = run_limits(connection, run_id, limits, AFTER_ALL)
            return own + provider_limits(connection, tenant, provider, within, at, AFTER_ALL)

        return [limit for limit in await self._database.run("read", job) if limit.near]

    async def carve(
        self,
        run_id: str,
        wanted: LoopBudget,
        above: Sequence[LoopBudget],
        limits: RunBudgetSettings,
        at: datetime,
    ) -> LoopBudget:
        """Cut a lane's budget down to what the lane that opens it, or else the run, has left."""

        def job(connection: sqlite3.Connection) -> LoopBudget:
            parent = above[-1] if above else LoopBudget(lane="", **limits.model_dump(exclude={"cost"}))
            spent = usage_sum(connection, run_id, at.timestamp(), parent.lane)
            tokens, calls = _left(parent.tokens, spent.tokens), _left(parent.tool_calls, spent.calls)
            cut = {"tokens": carve(wanted.tokens, tokens), "tool_calls": carve(wanted.tool_calls, calls)}
            return wanted.model_copy(update=cut)

        return await self._database.run("read", job)


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else limit - used


def _by_unit(amount: Amount) -> dict[Unit, int]:
    return {"tokens": amount.tokens, "tool_calls": amount.calls, "cost": amount.cost or 0}


def _refuse_unpriced(
    provider: str, amount: Amount, limits: RunBudgetSettings, within: ProviderBudgetSettings | None
) -> None:
    if amount.cost is not None:
        return
    if within is not None and within.monthly_cost is not None:
        raise unpriced(provider, f"providers.{provider}.monthly_cost")
    if limits.cost is not None:
        raise unpriced(provider, limits.setting("cost"))


def _refuse_in_lane(spent: Spent, amount: Amount, lane: LoopBudget) -> None:
    limits = (
        Limit("lane.tokens", "tokens", spent.tokens, lane.tokens) if lane.tokens is not None else None,
        Limit("lane.tool_calls", "tool_calls", spent.calls, lane.tool_calls)
        if lane.tool_calls is not None
        else None,
    )
    for limit in filter(None, limits):
        wanted = _by_unit(amount)[limit.unit]
        if not limit.covers(wanted):
            raise BudgetExceeded(
                limit.setting,
                f"the budget of this agent, {say(limit.unit, limit.most)}, is spent:"
                f" {say(limit.unit, limit.used)} used, {say(limit.unit, wanted)} more needed",
                "give it more when you delegate, or do less",
            )
