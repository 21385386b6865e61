"""What is used and held in reserve, summed up from the table of usage, and the limits it counts against."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from planwright.domain.clock import Window, day_of, month_of
from planwright.records.limits import Limit, micro_cents
from planwright.settings.agents import RunBudgetSettings
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.state.loop_budget import LoopBudget
from planwright.store.engines.engine import lock_shared_rows


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

    def __add__(self, other: Spent) -> Spent:
        mine, theirs = vars(self).values(), vars(other).values()
        return Spent(*(first + second for first, second in zip(mine, theirs, strict=True)))


NOTHING = Spent(0, 0, 0, 0, 0)


@dataclass(frozen=True)
class UsageRow:
    """One call in the table of usage."""

    id: str
    """Id of the reservation."""
    kind: str
    """What is called: `model` or `tool`."""
    amount: Amount
    """What it uses, or at most may use while it is not settled."""
    expires_at: float
    """Second of the epoch after which it counts no more, unless it is settled."""
    lane: str = ""
    """Innermost lane it is made in; "" outside of all."""
    settled: bool = False
    """Whether the call has ended."""

    @property
    def spent(self) -> Spent:
        """The call as a sum."""
        model, amount = int(self.kind == "model"), self.amount
        unpriced = int(model and amount.cost is None)
        return Spent(amount.tokens, amount.calls, amount.cost or 0, model, unpriced)


@dataclass(frozen=True)
class BudgetedCall:
    """A call that budgets have to cover, with the most that it may use."""

    run_id: str
    """Id of the run that makes it, or a name for what is called outside of one."""
    tenant: str
    """Tenant in whose name it is made."""
    provider: str
    """Provider of the model, or name of the capability, that is called."""
    kind: str
    """What is called: `model` or `tool`."""
    amount: Amount
    """Most that it may use."""
    lanes: Sequence[LoopBudget] = ()
    """Budgets of the lanes it is made in, from the outermost; each has to have enough left."""
    lasts_s: float = 0
    """Seconds that it may last, where that is longer than reservations are kept."""


class RunUsage:
    """What one run has used and holds in reserve. Made from its rows, and kept by who holds its lease.

    A reservation counts until it expires, and what is settled for good.
    """

    def __init__(self, rows: Iterable[UsageRow] = ()) -> None:
        self._ids: set[str] = set()
        self._settled: dict[str, Spent] = {}
        self._reserved: dict[str, UsageRow] = {}
        for row in rows:
            self.add(row)

    def __contains__(self, id_: str) -> bool:
        return id_ in self._ids

    def add(self, row: UsageRow) -> None:
        """Count a call, reserved or settled."""
        self._ids.add(row.id)
        if row.settled:
            self._settled[row.lane] = self._settled.get(row.lane, NOTHING) + row.spent
        else:
            self._reserved[row.id] = row

    def settle(self, id_: str, actual: Amount) -> None:
        """Replace a reservation, once, by what the call really used."""
        if row := self._reserved.pop(id_, None):
            self.add(replace(row, amount=actual, settled=True))

    def drop(self, id_: str) -> None:
        """Take back a reservation that was not written down."""
        if self._reserved.pop(id_, None):
            self._ids.discard(id_)

    def spent(self, now: float, lane: str = "") -> Spent:
        """Sum up the run, or one lane of it with all the lanes below."""
        settled = (spent for name, spent in self._settled.items() if _within(name, lane))
        held = (
            row.spent for row in self._reserved.values() if row.expires_at > now and _within(row.lane, lane)
        )
        return sum((*settled, *held), NOTHING)

    def limits(self, limits: RunBudgetSettings, now: float) -> list[Limit]:
        """Say how the limits of the run stand that are set."""
        spent, limits_set = self.spent(now), []
        if limits.tokens is not None:
            limits_set.append(Limit(limits.setting("tokens"), "tokens", spent.tokens, limits.tokens))
        if limits.tool_calls is not None:
            calls = limits.tool_calls
            limits_set.append(Limit(limits.setting("tool_calls"), "tool_calls", spent.calls, calls))
        if limits.model_calls is not None:
            calls = limits.model_calls
            limits_set.append(Limit(limits.setting("model_calls"), "model_calls", spent.model_calls, calls))
        if limits.cost is not None:
            limits_set.append(Limit(limits.setting("cost"), "cost", spent.cost, micro_cents(limits.cost)))
        return limits_set


def settle_row(connection: sqlite3.Connection, reservation: str, actual: Amount) -> None:
    """Replace a reservation by what was used; what is settled already stays as it is."""
    lock_shared_rows(connection)  # the day of a provider is one row for all runs
    query = "SELECT kind, tenant, provider, substr(at, 1, 10) FROM usage WHERE id=? AND settled=0"
    if (row := connection.execute(query, (reservation,)).fetchone()) is None:
        return
    connection.execute(
        "UPDATE usage SET tokens=?, cost=?, calls=?, settled=1 WHERE id=?",
        (actual.tokens, actual.cost, actual.calls, reservation),
    )
    if row[0] == "model":
        connection.execute(
            "INSERT INTO usage_days (tenant, provider, day, tokens, cost) VALUES (?,?,?,?,?)"
            " ON CONFLICT (tenant, provider, day) DO UPDATE SET"
            " tokens = usage_days.tokens + excluded.tokens, cost = usage_days.cost + excluded.cost",
            (row[1], row[2], row[3], actual.tokens, actual.cost or 0),
        )


def settle_in_full(connection: sqlite3.Connection, run_id: str) -> None:
    """Count the worst case of calls that a process has left behind: they may have been billed."""
    query = "SELECT id, tokens, calls, cost FROM usage WHERE run_id = ? AND settled = 0"
    for id_, tokens, calls, cost in connection.execute(query, (run_id,)).fetchall():
        settle_row(connection, id_, Amount(tokens, calls, cost))


def run_usage(connection: sqlite3.Connection, run_id: str) -> RunUsage:
    """Read what a run has used and holds in reserve."""
    query = "SELECT id, kind, tokens, calls, cost, settled, expires_at, lane FROM usage WHERE run_id = ?"
    return RunUsage(
        UsageRow(id_, kind, Amount(tokens, calls, cost), expires_at, lane or "", bool(settled))
        for id_, kind, tokens, calls, cost, settled, expires_at, lane in connection.execute(query, (run_id,))
    )


def _within(name: str, lane: str) -> bool:
    return not lane or name == lane or name.startswith(f"{lane}/")


def is_limited(within: ProviderBudgetSettings | None) -> bool:
    """Say whether a provider has a limit, which all processes share."""
    return within is not None and (within.daily_tokens, within.monthly_cost) != (None, None)


def provider_limits(
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
    if within is not None and within.daily_tokens is not None:
        day = day_of(at)
        used, _ = _in_window(connection, tenant, provider, day, now)
        limits.append(Limit(f"{prefix}.daily_tokens", "tokens", used, within.daily_tokens, provider, day))
    if within is not None and within.monthly_cost is not None:
        month, most = month_of(at), micro_cents(within.monthly_cost)
        _, used = _in_window(connection, tenant, provider, month, now)
        limits.append(Limit(f"{prefix}.monthly_cost", "cost", used, most, provider, month))
    return limits


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
        " AND tenant = ? AND provider = ? AND at >= ? AND at < ? AND expires_at > ?) counted",
        (*place, *place, now),
    ).fetchone()
    return int(row[0]), int(row[1])
