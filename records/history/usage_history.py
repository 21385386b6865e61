"""What was used: by provider, run, day, tenant or agent; and how the limits of providers stand."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from planwright.records.budget_usage import provider_limits
from planwright.records.history.rows import Row, count_of, first_of, rows_of
from planwright.records.limits import Limit
from planwright.settings.provider_budget import ProviderBudgetSettings

By = Literal["provider", "run", "day", "tenant", "agent"]
_AGENT = "coalesce(json_extract(r.context, '$.agent'), '')"
_NAMES = {
    "provider": ("u.provider", "", "json_extract(j.data, '$.provider')"),
    "run": ("u.run_id", "s.run_id", "j.run_id"),
    "day": ("substr(u.at, 1, 10)", "substr(s.ended_at, 1, 10)", "substr(j.ts, 1, 10)"),
    "tenant": ("u.tenant", "s.tenant", "j.tenant"),
    "agent": (_AGENT, _AGENT, _AGENT),
}
"""What a group is named by: in the table of usage, in that of steps ("" for none), and in the journal."""
_MODELS = """SELECT {names}, count(*) AS model_calls, coalesce(sum(u.tokens), 0) AS tokens,
    coalesce(sum(u.cost), 0) AS cost, sum(CASE WHEN u.cost IS NULL THEN 1 ELSE 0 END) AS unpriced,
    sum(CASE WHEN u.settled = 0 THEN 1 ELSE 0 END) AS reserved
    FROM usage u {agents}
    WHERE (:tenant IS NULL OR u.tenant = :tenant) AND u.at >= :since AND u.kind = 'model'
    AND (u.settled = 1 OR u.expires_at > :now) GROUP BY {groups}"""
_CALLS = """SELECT {names}, count(*) AS calls FROM steps s {agents}
    WHERE (:tenant IS NULL OR s.tenant = :tenant) AND s.ended_at >= :since
    AND s.status IN ('completed', 'failed') AND json_extract(s.result, '$.capability') <> 'agent'
    AND coalesce(json_extract(s.result, '$.kept_from'), '') = ''
    GROUP BY {groups}"""
_CACHED = """SELECT {names}, sum(json_extract(j.data, '$.cached_tokens')) AS cached_tokens,
    sum(json_extract(j.data, '$.input_tokens')) AS input_tokens
    FROM journal j {agents}
    WHERE j.type = 'llm_call' AND json_extract(j.data, '$.error') IS NULL
    AND (:tenant IS NULL OR j.tenant = :tenant) AND j.ts >= :since GROUP BY {groups}"""
_RESERVED = """SELECT count(*) AS count, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(cost), 0) AS cost
    FROM usage WHERE settled = 0 AND kind = 'model' AND (expires_at > :now) = :open"""
_TENANTS = """SELECT tenant FROM usage_days UNION SELECT tenant FROM usage WHERE settled = 0 ORDER BY 1"""
_UNPRICED = """SELECT count(*) FROM usage WHERE kind = 'model' AND tenant = ? AND provider = ?
    AND at >= ? AND at < ? AND settled = 1 AND cost IS NULL"""


@dataclass(frozen=True)
class Used:
    """What was used under one name: a day, a provider, a run, a tenant or an agent."""

    name: str
    """Day in ISO 8601, provider, run, tenant or agent; "" for runs without an agent."""
    model_calls: int = 0
    """Calls of models."""
    tokens: int = 0
    """Tokens sent and returned."""
    cost: int = 0
    """Cost of the model calls that have a price, in micro-cents."""
    unpriced: int = 0
    """Model calls without a price."""
    reserved: int = 0
    """Model calls that are being made."""
    calls: int = 0
    """Calls of capabilities; 0 for a provider, which makes none."""
    cached_tokens: int = 0
    """Tokens of those sent that providers had in their caches."""
    input_tokens: int = 0
    """Tokens sent."""


@dataclass(frozen=True)
class UsageScope:
    """Whose use is summed up, and since when."""

    now: datetime
    """What time it is: a reservation that has expired does not count."""
    tenant: str | None = None
    """Tenant that it belongs to; None for all."""
    since: str = ""
    """Day in ISO 8601; "" for all."""


def used_by(connection: sqlite3.Connection, by: By, scope: UsageScope) -> list[Used]:
    """Sum up what was used, by name."""
    return used_by_each(connection, (by,), scope)[0]


def used_by_each(connection: sqlite3.Connection, ways: Sequence[By], scope: UsageScope) -> list[list[Used]]:
    """Sum up what was used, by name, in several ways at once: each reads the same rows."""
    place = {"tenant": scope.tenant, "since": scope.since, "now": scope.now.timestamp()}
    agents = "LEFT JOIN runs r USING (run_id)" if "agent" in ways else ""
    used: list[dict[str, Counter[str]]] = [{} for _ in ways]
    for table, query in enumerate((_MODELS, _CALLS, _CACHED)):
        columns = {number: column for number, by in enumerate(ways) if (column := _NAMES[by][table])}
        names = ", ".join(f"{column} AS name_{number}" for number, column in columns.items())
        groups = ", ".join(str(nth) for nth in range(1, len(columns) + 1))
        text = query.format(names=names, agents=agents, groups=groups)
        for row in rows_of(connection, text, place) if columns else ():
            counts = {key: int(value or 0) for key, value in row.items() if not key.startswith("name_")}
            for number in columns:
                name = row[f"name_{number}"]
                if query is not _CACHED or name in used[number]:
                    used[number].setdefault(name, Counter()).update(counts)
    return [[Used(name, **sums[name]) for name in sorted(sums)] for sums in used]


def limits_of(
    connection: sqlite3.Connection,
    tenants: Iterable[str],
    budgets: Mapping[str, ProviderBudgetSettings],
    now: datetime,
) -> list[tuple[str, Limit]]:
    """Say how the limits of providers that are set stand now for each tenant."""
    return [
        (tenant, limit)
        for tenant in tenants
        for provider, within in budgets.items()
        for limit in provider_limits(connection, tenant, provider, within, now)
    ]


def unpriced_in(connection: sqlite3.Connection, tenant: str, limit: Limit) -> int:
    """Count the calls in the window of a limit that have no price, which a limit of cost leaves out."""
    window = limit.provider_window
    return count_of(connection, _UNPRICED, (tenant, limit.provider, window.start, window.end))


def tenants_with_use(connection: sqlite3.Connection) -> Sequence[str]:
    """Name the tenants that have used anything."""
    return [str(row[0]) for row in connection.execute(_TENANTS)]


def reserved(connection: sqlite3.Connection, now: datetime, *, is_open: bool) -> Row:
    """Sum up the reservations of calls that are being made, or of those whose process died."""
    row = first_of(connection, _RESERVED, {"now": now.timestamp(), "open": int(is_open)})
    return row or {}
