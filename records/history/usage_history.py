"""What a tenant has used since a day: by day, by provider and by agent."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from planwright.records.budget_usage import provider_limits
from planwright.records.limits import Limit
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.store.database import Database

_AGENT = "coalesce(json_extract(r.context, '$.agent'), '')"
_MODELS = """SELECT {name} AS name, count(*) AS model_calls, coalesce(sum(u.tokens), 0) AS tokens,
    coalesce(sum(u.cost), 0) AS cost, sum(CASE WHEN u.cost IS NULL THEN 1 ELSE 0 END) AS unpriced
    FROM usage u LEFT JOIN runs r ON r.run_id = u.run_id
    WHERE u.tenant = :tenant AND u.at >= :since AND u.kind = 'model'
    AND (u.settled = 1 OR u.expires_at > :now) GROUP BY 1 ORDER BY 1"""
_CALLS = """SELECT {name} AS name, count(*) AS calls FROM steps s JOIN runs r ON r.run_id = s.run_id
    WHERE s.tenant = :tenant AND s.ended_at >= :since AND s.status IN ('completed', 'failed')
    AND json_extract(s.result, '$.capability') <> 'agent'
    AND coalesce(json_extract(s.result, '$.kept_from'), '') = ''
    GROUP BY 1 ORDER BY 1"""


@dataclass(frozen=True)
class Used:
    """What was used under one name: a day, a provider or an agent."""

    name: str
    """Day in ISO 8601, provider or agent; "" for runs without an agent."""
    model_calls: int = 0
    """Calls of models."""
    tokens: int = 0
    """Tokens sent and returned."""
    cost: int = 0
    """Cost of the model calls that have a price, in micro-cents."""
    unpriced: int = 0
    """Model calls without a price."""
    calls: int = 0
    """Calls of capabilities; 0 for a provider, which makes none."""


@dataclass(frozen=True)
class UsageSums:
    """What a tenant has used, summed up in three ways."""

    days: Sequence[Used]
    """By day (UTC), the oldest first; days without use are left out."""
    providers: Sequence[Used]
    """By provider of models, by name."""
    agents: Sequence[Used]
    """By agent, by name."""
    limits: Sequence[Limit]
    """Limits of providers that are set, as they stand now."""


class UsageHistory:
    """Reads of what was used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def sums(
        self, tenant: str, since: str, now: datetime, budgets: Mapping[str, ProviderBudgetSettings]
    ) -> UsageSums:
        """Sum up what a tenant has used since a day in ISO 8601; `budgets` are those of providers."""
        place = {"tenant": tenant, "since": since, "now": now.timestamp()}

        def rows(connection: sqlite3.Connection, name: str, ended: str = "") -> list[Used]:
            models = connection.execute(_MODELS.format(name=name), place)
            used = {row["name"]: _used(row) for row in models}
            for row in connection.execute(_CALLS.format(name=ended), place) if ended else ():
                before = used.get(row["name"], Used(row["name"]))
                used[row["name"]] = replace(before, calls=row["calls"])
            return [used[key] for key in sorted(used)]

        def job(connection: sqlite3.Connection) -> UsageSums:
            return UsageSums(
                rows(connection, "substr(u.at, 1, 10)", "substr(s.ended_at, 1, 10)"),
                rows(connection, "u.provider"),
                rows(connection, _AGENT, _AGENT),
                [
                    limit
                    for provider, within in budgets.items()
                    for limit in provider_limits(connection, tenant, provider, within, now)
                ],
            )

        return await self._database.read(job)


def _used(row: sqlite3.Row) -> Used:
    counts = ("model_calls", "tokens", "cost", "unpriced")
    return Used(row["name"], *(int(row[name]) for name in counts))
