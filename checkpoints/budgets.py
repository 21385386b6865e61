"""Budgets: reserve before a call, settle after it, in one transaction across processes.

Money is counted in micro-cents (1 US dollar = 100,000,000), so nothing is lost to rounding.
"""

from __future__ import annotations

import sqlite3
import uuid
from dataclasses import dataclass
from datetime import datetime

from planwright.checkpoints.database import Database
from planwright.graph.errors import BudgetExceeded
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
    ) -> str:
        """Set aside the worst case of a call and return the reservation's id.

        The same id again, after a crash, is the same call and costs nothing more.
        Raises BudgetExceeded, naming the limit, when what is left does not cover it.
        """
        id_ = id_ or uuid.uuid4().hex

        def job(connection: sqlite3.Connection) -> None:
            if connection.execute("SELECT 1 FROM usage WHERE id = ?", (id_,)).fetchone():
                return
            _refuse_overspending(_sum(connection, run_id, at.timestamp()), amount, limits)
            connection.execute(
                "INSERT INTO usage (id, tenant, run_id, provider, kind, tokens, cost, calls, settled,"
                " expires_at, at) VALUES (?,?,?,?,?,?,?,?,0,?,?)",
                (id_, tenant, run_id, provider, kind, amount.tokens, amount.cost, amount.calls)
                + (at.timestamp() + self._ttl_s, at.isoformat()),
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


def _sum(connection: sqlite3.Connection, run_id: str, now: float) -> Spent:
    row = connection.execute(
        "SELECT coalesce(sum(tokens),0), coalesce(sum(calls),0), coalesce(sum(cost),0),"
        " coalesce(sum(kind='model'),0), coalesce(sum(kind='model' AND cost IS NULL),0)"
        " FROM usage WHERE run_id = ? AND (settled = 1 OR expires_at > ?)",
        (run_id, now),
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


def _say(name: str, amount: int) -> str:
    if name == "cost":
        return f"${amount / MICRO_CENTS_PER_DOLLAR:.4f}"
    return f"{amount} {name.replace('_', ' ')}"
