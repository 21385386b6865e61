"""Budgets: reserve before a call, settle after it, in one transaction across processes.

What a call uses counts in the day and month (UTC) in which it was reserved, for its tenant. A reservation
that nobody settles, because its process died, counts in full once its run is taken by another; one whose run
nobody goes on with comes back when it expires.
What a run has used only the process changes that holds its lease: it counts in memory, and its rows ride.
"""

from __future__ import annotations

import math
import sqlite3
import uuid
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from weakref import WeakKeyDictionary

from planwright.domain.clock import utc_text
from planwright.domain.errors import BudgetExceeded, PlanwrightError
from planwright.domain.lease import Lease
from planwright.presentation.figures import amount_text
from planwright.records.budget_usage import (
    Amount,
    BudgetedCall,
    RunUsage,
    Spent,
    UsageRow,
    is_limited,
    provider_limits,
    run_usage,
    settle_row,
)
from planwright.records.limits import Limit, Unit, refuse_overspending, unpriced
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.state.loop_budget import LoopBudget, carve
from planwright.store.database import Database
from planwright.store.fencing import held, ride

USAGE = ("reserve", "settle")  # the jobs that write the table
OF_THIS_AGENT = "the budget of this agent"  # as a refusal names it
AFTER_ALL = math.inf  # when every reservation has expired, and only what is settled counts


class Budgets:
    """The table of reservations and settled usage."""

    def __init__(self, database: Database, reservation_ttl_s: float = 600) -> None:
        self._database = database
        self._ttl_s = reservation_ttl_s
        self._leased: WeakKeyDictionary[Lease, RunUsage] = WeakKeyDictionary()

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
        id_, now = id_ or uuid.uuid4().hex, at.timestamp()
        row = _row(call, id_, now + max(self._ttl_s, call.lasts_s))
        shared = call.kind == "model" and is_limited(within)
        usage = await self._usage(lease) if lease else None
        if usage is not None:
            if id_ in usage:
                return id_
            _refuse(usage, call, limits, within, now)
            usage.add(row)

        def job(connection: sqlite3.Connection) -> None:
            known = "SELECT 1 FROM usage WHERE id = ?"
            if (usage is None or shared) and connection.execute(known, (id_,)).fetchone():
                return
            if usage is None:
                _refuse(run_usage(connection, call.run_id), call, limits, within, now)
            if shared:
                standing = provider_limits(connection, call.tenant, call.provider, within, at)
                refuse_overspending(standing, _by_unit(call))
            _insert(connection, call, row, at)

        if lease is not None and not shared:
            ride(self._database, "reserve", lease, job)
            return id_
        try:
            await self._database.run("reserve", held(lease, job))
        except PlanwrightError:
            if usage is not None:
                usage.drop(id_)
            raise
        return id_

    async def settle(self, reservation: str, actual: Amount, lease: Lease | None = None) -> None:
        """Replace a reservation, once, by what the call really used; in a run that rides."""

        job = partial(settle_row, reservation=reservation, actual=actual)
        if lease is None:
            await self._database.run("settle", job)
            return
        (await self._usage(lease)).settle(reservation, actual)
        ride(self._database, "settle", lease, job)

    async def spent(self, run_id: str, at: datetime) -> Spent:
        """Sum up what a run has used and still holds in reserve, as it is on record."""
        return (await self._database.read(lambda c: run_usage(c, run_id), behind=USAGE)).spent(at.timestamp())

    async def spent_by(self, lease: Lease, at: datetime) -> Spent:
        """Sum up what the run has used and still holds in reserve that this process works on."""
        return (await self._usage(lease)).spent(at.timestamp())

    async def of_run(self, lease: Lease, limits: RunBudgetSettings, at: datetime) -> list[Limit]:
        """Say how the limits of a run stand, reservations included."""
        return (await self._usage(lease)).limits(limits, at.timestamp())

    async def of_provider(
        self, tenant: str, provider: str, within: ProviderBudgetSettings, at: datetime
    ) -> list[Limit]:
        """Say how the limits of a provider stand for a tenant, reservations included."""
        if not is_limited(within):
            return []
        read = partial(provider_limits, tenant=tenant, provider=provider, within=within, at=at)
        return await self._database.read(read, behind=USAGE)

    async def near(
        self,
        lease: Lease,
        limits: RunBudgetSettings,
        at: datetime,
        provider: str = "",
        within: ProviderBudgetSettings | None = None,
    ) -> list[Limit]:
        """List the limits of a run, and of a provider, of which 80 % is used; what is reserved is not."""
        standing = (await self._usage(lease)).limits(limits, AFTER_ALL)
        if is_limited(within):
            standing += await self._database.read(
                lambda c: provider_limits(c, lease.tenant, provider, within, at, AFTER_ALL), behind=USAGE
            )
        return [limit for limit in standing if limit.near]

    async def carve(
        self,
        lease: Lease,
        wanted: LoopBudget,
        above: Sequence[LoopBudget],
        at: datetime,
    ) -> LoopBudget:
        """Cut a lane's budget down to what the lane that opens it has left.

        What the run has left bounds it call by call: the run may be given more while the lane is at work.
        """
        if not above:
            return wanted
        parent = above[-1]
        spent = (await self._usage(lease)).spent(at.timestamp(), parent.lane)
        tokens, calls = _left(parent.tokens, spent.tokens), _left(parent.tool_calls, spent.calls)
        cut = {"tokens": carve(wanted.tokens, tokens), "tool_calls": carve(wanted.tool_calls, calls)}
        return wanted.model_copy(update=cut)

    async def _usage(self, lease: Lease) -> RunUsage:
        """Give what a run has used, which nobody else changes while its lease is held here."""
        if (usage := self._leased.get(lease)) is None:
            usage = await self._database.read(lambda c: run_usage(c, lease.run_id), behind=USAGE)
            usage = self._leased.setdefault(lease, usage)
        return usage


def _refuse(
    usage: RunUsage,
    call: BudgetedCall,
    limits: RunBudgetSettings,
    within: ProviderBudgetSettings | None,
    now: float,
) -> None:
    """Raise BudgetExceeded where a run, a lane of it or an unknown price stands against a call."""
    refuse_overspending(usage.limits(limits, now), _by_unit(call))
    for lane in call.lanes:
        _refuse_in_lane(usage.spent(now, lane.lane), call, lane)
    if call.kind == "model":
        _refuse_unpriced(call.provider, call.amount, limits, within)


def _row(call: BudgetedCall, id_: str, expires_at: float) -> UsageRow:
    lane = call.lanes[-1].lane if call.lanes else ""
    settled = call.kind == "tool"  # a call uses up one call whatever it brings: nothing is left to settle
    return UsageRow(id_, call.kind, call.amount, expires_at, lane, settled)


def _insert(connection: sqlite3.Connection, call: BudgetedCall, row: UsageRow, at: datetime) -> None:
    connection.execute(
        "INSERT INTO usage (id, tenant, run_id, provider, kind, tokens, cost, calls, settled,"
        " expires_at, at, lane) VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
        (row.id, call.tenant, call.run_id, call.provider, row.kind)
        + (row.amount.tokens, row.amount.cost, row.amount.calls, row.settled)
        + (row.expires_at, utc_text(at), row.lane),
    )


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else limit - used


def _by_unit(call: BudgetedCall) -> dict[Unit, int]:
    amount, of_model = call.amount, int(call.kind == "model")
    calls: dict[Unit, int] = {"tool_calls": amount.calls, "model_calls": of_model}
    return {"tokens": amount.tokens, "cost": amount.cost or 0, **calls}


def _refuse_unpriced(
    provider: str, amount: Amount, limits: RunBudgetSettings, within: ProviderBudgetSettings | None
) -> None:
    if amount.cost is not None:
        return
    if within is not None and within.monthly_cost is not None:
        raise unpriced(provider, f"providers.{provider}.monthly_cost")
    if limits.cost is not None:
        raise unpriced(provider, limits.setting("cost"))


def _refuse_in_lane(spent: Spent, call: BudgetedCall, lane: LoopBudget) -> None:
    limits = (
        Limit("lane.tokens", "tokens", spent.tokens, lane.tokens) if lane.tokens is not None else None,
        Limit("lane.tool_calls", "tool_calls", spent.calls, lane.tool_calls)
        if lane.tool_calls is not None
        else None,
    )
    for limit in filter(None, limits):
        wanted = _by_unit(call)[limit.unit]
        if not limit.covers(wanted):
            raise BudgetExceeded(
                limit.setting,
                f"{OF_THIS_AGENT}, {amount_text(limit.unit, limit.most)}, is spent:"
                f" {amount_text(limit.unit, limit.used)} used, {amount_text(limit.unit, wanted)} more needed",
                "give it more when you delegate, or do less",
            )
