"""Budgets: reserve before a call, settle after it, in one transaction across processes.

What a call uses counts in the day and month (UTC) in which it was reserved, for its tenant. A reservation
that nobody settles, because its process died, comes back when its run is taken by another, or it expires.
"""

from __future__ import annotations

import math
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from planwright.checkpoints.database import Database
from planwright.checkpoints.limits import MICRO_CENTS_PER_DOLLAR as MICRO_CENTS_PER_DOLLAR
from planwright.checkpoints.limits import Limit, Unit, micro_cents, refuse_overspending, say, unpriced
from planwright.checkpoints.ownership.fencing import held
from planwright.domain.errors import BudgetExceeded
from planwright.domain.lease import Lease
from planwright.domain.windows import Window, day_of, month_of, utc_text
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.state.loop_budget import LoopBudget, carve

AHEAD = timedelta(days=7)
AFTER_ALL = math.inf  # when every reservation has expired, and only what is settled counts


@dataclass(frozen=True)
class Amount:
    """What a call uses: tokens, calls of capabilities, and micro-cents (None = unpriced)."""

    tokens: int = 0
    """Tokens sent and returned."""
    calls: int = 0
    """Calls of capabilities."""
    cost: int | None = None
    """Cost in micro-cents; None where the price is unknown."""


@dataclass(frozen=True)
class Spent:
    """What a run has used so far; `unpriced` counts the calls whose price nobody knows."""

    tokens: int
    """Tokens of all model calls."""
    calls: int
    """Calls of capabilities."""
    cost: int
    """Cost of the model calls that have a price, in micro-cents."""
    model_calls: int
    """Number of model calls."""
    unpriced: int
    """Number of the model calls without a price."""


class Budgets:
    """The table of reservations and settled usage."""

    def __init__(self, database: Database, reservation_ttl_s: float = 600) -> None:
        self._database = database
        self._ttl_s = reservation_ttl_s

    async def reserve(
        self,
        run_id: str,
        tenant: str,
        provider: str,
        kind: str,
        amount: Amount,
        limits: RunBudgetSettings,
        at: datetime,
        id_: str | None = None,
        lanes: Sequence[LoopBudget] = (),
        within: ProviderBudgetSettings | None = None,
        lasts_s: float = 0,
        lease: Lease | None = None,
    ) -> str:
        """Set aside the worst case of a call and return the reservation's id.

        The same id again, after a crash, is the same call and costs nothing more. `lanes` are the
        lanes the call is made in, from the outermost; each has to have enough left. `within` are the
        limits of the provider that is asked. A call that may last longer than reservations are kept
        says so in `lasts_s`. What is called outside of a run has no lease.

        Raises BudgetExceeded, naming the limit, when what is left does not cover the call;
        ProviderBudgetExceeded when another provider might still serve: a limit of this one is reached, or
        its price is unknown where a limit of cost is set.
        """
        id_ = id_ or uuid.uuid4().hex

        def job(connection: sqlite3.Connection) -> None:
            if connection.execute("SELECT 1 FROM usage WHERE id = ?", (id_,)).fetchone():
                return
            now, counted = at.timestamp(), utc_text(_counted(connection, tenant, provider, at))
            refuse_overspending(_of_run(connection, run_id, limits, now), _by_unit(amount))
            for lane in lanes:
                _refuse_in_lane(_sum(connection, run_id, now, lane.lane), amount, lane)
            if kind == "model":
                _refuse_unpriced(provider, amount, limits, within)
                refuse_overspending(_of_provider(connection, tenant, provider, within, at), _by_unit(amount))
            connection.execute(
                "INSERT INTO usage (id, tenant, run_id, provider, kind, tokens, cost, calls, settled,"
                " expires_at, at, lane) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                (id_, tenant, run_id, provider, kind, amount.tokens, amount.cost, amount.calls)
                + (kind == "tool",)  # a call uses up one call whatever it brings: nothing is left to settle
                + (now + max(self._ttl_s, lasts_s), counted, lanes[-1].lane if lanes else ""),
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
        return await self._database.run("read", lambda c: _sum(c, run_id, at.timestamp()))

    async def of_run(self, run_id: str, limits: RunBudgetSettings, at: datetime) -> list[Limit]:
        """Say how the limits of a run stand, reservations included."""
        return await self._database.run("read", lambda c: _of_run(c, run_id, limits, at.timestamp()))

    async def of_provider(
        self, tenant: str, provider: str, within: ProviderBudgetSettings, at: datetime
    ) -> list[Limit]:
        """Say how the limits of a provider stand for a tenant, reservations included."""
        return await self._database.run("read", lambda c: _of_provider(c, tenant, provider, within, at))

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
            own = _of_run(connection, run_id, limits, AFTER_ALL)
            return own + _of_provider(connection, tenant, provider, within, at, AFTER_ALL)

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
            spent = _sum(connection, run_id, at.timestamp(), parent.lane)
            tokens, calls = _left(parent.tokens, spent.tokens), _left(parent.tool_calls, spent.calls)
            cut = {"tokens": carve(wanted.tokens, tokens), "tool_calls": carve(wanted.tool_calls, calls)}
            return wanted.model_copy(update=cut)

        return await self._database.run("read", job)


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else limit - used


def _sum(connection: sqlite3.Connection, run_id: str, now: float, lane: str = "") -> Spent:
    """Sum up a run, or one lane of it with all the lanes below."""
    row = connection.execute(
        "SELECT coalesce(sum(tokens),0), coalesce(sum(calls),0), coalesce(sum(cost),0),"
        " coalesce(sum(kind='model'),0), coalesce(sum(kind='model' AND cost IS NULL),0)"
        " FROM usage WHERE run_id = ? AND (settled = 1 OR expires_at > ?)"
        " AND (? = '' OR lane = ? OR substr(lane, 1, length(?) + 1) = ? || '/')",
        (run_id, now, lane, lane, lane, lane),
    ).fetchone()
    return Spent(*row)


def _of_run(
    connection: sqlite3.Connection, run_id: str, limits: RunBudgetSettings, now: float
) -> list[Limit]:
    if limits.tokens is None and limits.tool_calls is None and limits.cost is None:
        return []
    spent = _sum(connection, run_id, now)
    limits_set = []
    if limits.tokens is not None:
        limits_set.append(Limit(limits.setting("tokens"), "tokens", spent.tokens, limits.tokens))
    if limits.tool_calls is not None:
        limits_set.append(Limit(limits.setting("tool_calls"), "tool_calls", spent.calls, limits.tool_calls))
    if limits.cost is not None:
        limits_set.append(Limit(limits.setting("cost"), "cost", spent.cost, micro_cents(limits.cost)))
    return limits_set


def _of_provider(
    connection: sqlite3.Connection,
    tenant: str,
    provider: str,
    within: ProviderBudgetSettings | None,
    at: datetime,
    now: float | None = None,
) -> list[Limit]:
    """Look at the limits of a provider in the windows of `at`; what expired before `now` does not count."""
    limits: list[Limit] = []
    now, prefix = at.timestamp() if now is None else now, f"providers.{provider}"
    at = _counted(connection, tenant, provider, at)
    if within is not None and within.daily_tokens is not None:
        day = day_of(at)
        used, _ = _in_window(connection, tenant, provider, day, now)
        limits.append(Limit(f"{prefix}.daily_tokens", "tokens", used, within.daily_tokens, provider, day))
    if within is not None and within.monthly_cost is not None:
        month, most = month_of(at), micro_cents(within.monthly_cost)
        _, used = _in_window(connection, tenant, provider, month, now)
        limits.append(Limit(f"{prefix}.monthly_cost", "cost", used, most, provider, month))
    return limits


def _counted(connection: sqlite3.Connection, tenant: str, provider: str, at: datetime) -> datetime:
    """Find the moment at which a call counts: a clock that was set back opens no window a second time.

    A day further ahead than a clock is wrong by, as a rule, does not hold the next days up.
    """
    query = "SELECT max(day) FROM usage_days WHERE tenant = ? AND provider = ? AND day <= ?"
    ahead = day_of(at + AHEAD).name
    newest = connection.execute(query, (tenant, provider, ahead)).fetchone()[0]
    return (
        at if newest is None or newest <= day_of(at).name else datetime.fromisoformat(f"{newest}T00:00+00:00")
    )


def _in_window(
    connection: sqlite3.Connection, tenant: str, provider: str, window: Window, now: float
) -> tuple[int, int]:
    """Sum up tokens and micro-cents of a provider's calls: the days that are kept, and what is held now.

    A month of 100,000 calls is 30 rows this way; summing the calls took hundreds of times as long.
    """
    place = (tenant, provider, window.start, window.end)
    row = connection.execute(
        "SELECT coalesce(sum(tokens),0), coalesce(sum(cost),0) FROM ("
        "SELECT tokens, cost FROM usage_days WHERE tenant = ? AND provider = ? AND day >= ? AND day < ?"
        " UNION ALL SELECT tokens, cost FROM usage WHERE settled = 0 AND kind = 'model'"
        " AND tenant = ? AND provider = ? AND at >= ? AND at < ? AND expires_at > ?)",
        (*place, *place, now),
    ).fetchone()
    return int(row[0]), int(row[1])


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
