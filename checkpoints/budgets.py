"""Budgets: reserve before a call, settle after it, in one transaction across processes.

Money is counted in micro-cents (1 US dollar = 100,000,000), so nothing is lost to rounding.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from planwright.checkpoints.database import Database
from planwright.graph.errors import BudgetExceeded
from planwright.graph.lane_budget import LaneBudget, carve
from planwright.graph.settings import RunBudget

MICRO_CENTS_PER_DOLLAR = 100_000_000


@dataclass(frozen=True)
class Amount:
    """What a call uses: tokens, calls of capabilities, and micro-cents (None = unpriced)."""

    tokens: int = 0
    calls: int = 0
    cost: int | None = None


@dataclass(frozen=True)
class Spent:
    """What a run has used so far; `unpriced` counts the calls whose price nobody knows."""

    tokens: int
    calls: int
    cost: int
    model_calls: int
    unpriced: int


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
        limits: RunBudget,
        at: datetime,
        id_: str | None = None,
        lanes: Sequence[LaneBudget] = (),
    ) -> str:
        """Set aside the worst case of a call and return the reservation's id.

        The same id again, after a crash, is the same call and costs nothing more. `lanes` are the
        lanes the call is made in, from the outermost; each has to have enough left.
        Raises BudgetExceeded, naming the limit, when what is left does not cover it.
        """
        id_ = id_ or uuid.uuid4().hex

        def job(connection: sqlite3.Connection) -> None:
            if connection.execute("SELECT 1 FROM usage WHERE id = ?", (id_,)).fetchone():
                return
            now = at.timestamp()
            _refuse_overspending(_sum(connection, run_id, now), amount, limits)
            for lane in lanes:
                _refuse_in_lane(_sum(connection, run_id, now, lane.lane), amount, lane)
            connection.execute(
                "INSERT INTO usage (id, tenant, run_id, provider, kind, tokens, cost, calls, settled,"
                " expires_at, at, lane) VALUES (?,?,?,?,?,?,?,?,0,?,?,?)",
                (id_, tenant, run_id, provider, kind, amount.tokens, amount.cost, amount.calls)
                + (now + self._ttl_s, at.isoformat(), lanes[-1].lane if lanes else ""),
            )

        await self._database.run("reserve", job)
        return id_

    async def settle(self, reservation: str, actual: Amount) -> None:
        """Replace a reservation by what the call really used."""

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE usage SET tokens=?, cost=?, calls=?, settled=1 WHERE id=?",
                (actual.tokens, actual.cost, actual.calls, reservation),
            )

        await self._database.run("settle", job)

    async def spent(self, run_id: str, at: datetime) -> Spent:
        """Sum up what a run has used and still holds in reserve."""
        return await self._database.run("read", lambda c: _sum(c, run_id, at.timestamp()))

    async def carve(
        self, run_id: str, wanted: LaneBudget, above: Sequence[LaneBudget], limits: RunBudget, at: datetime
    ) -> LaneBudget:
        """Cut a lane's budget down to what the lane that opens it, or else the run, has left."""

        def job(connection: sqlite3.Connection) -> LaneBudget:
            parent = above[-1] if above else LaneBudget(lane="", **limits.model_dump(exclude={"cost"}))
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


def _refuse_overspending(spent: Spent, amount: Amount, limits: RunBudget) -> None:
    cost_limit = None if limits.cost is None else int(limits.cost * MICRO_CENTS_PER_DOLLAR)
    asked = (
        ("tokens", spent.tokens, amount.tokens, limits.tokens),
        ("tool_calls", spent.calls, amount.calls, limits.tool_calls),
        ("cost", spent.cost, amount.cost or 0, cost_limit),
    )
    for name, used, wanted, limit in asked:
        if limit is not None and wanted and used + wanted > limit:
            raise BudgetExceeded(
                f"budgets.run.{name}",
                f"the run budget of {_say(name, limit)} is spent: {_say(name, used)} used,"
                f" {_say(name, wanted)} more needed",
                f"raise budgets.run.{name} in planwright.toml, then run again",
            )


def _refuse_in_lane(spent: Spent, amount: Amount, lane: LaneBudget) -> None:
    asked = (
        ("tokens", spent.tokens, amount.tokens, lane.tokens),
        ("tool_calls", spent.calls, amount.calls, lane.tool_calls),
    )
    for name, used, wanted, limit in asked:
        if limit is not None and wanted and used + wanted > limit:
            raise BudgetExceeded(
                f"lane.{name}",
                f"the budget of this agent, {_say(name, limit)}, is spent: {_say(name, used)} used,"
                f" {_say(name, wanted)} more needed",
                "give it more when you delegate, or do less",
            )


def _say(name: str, amount: int) -> str:
    if name == "cost":
        return f"${amount / MICRO_CENTS_PER_DOLLAR:.4f}"
    return f"{amount} {name.replace('_', ' ')}"
