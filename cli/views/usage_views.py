"""What was used, by provider, run, day or tenant, and what is left. Reads only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from rich.table import Table

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import has_store, now_of, open_store
from planwright.cli.views.paging import Page
from planwright.domain.clock import day_of, month_of
from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.presentation.rows import Report
from planwright.settings.settings import Settings

By = Literal["provider", "run", "day", "tenant"]
_COLUMNS = {"provider": "provider", "run": "run_id", "day": "substr(at, 1, 10)", "tenant": "tenant"}
_COUNTED = """SELECT {column} AS name, sum(kind = 'model') AS model_calls, sum(tokens) AS tokens,
    coalesce(sum(cost), 0) AS cost, sum(kind = 'model' AND cost IS NULL) AS unpriced,
    sum(settled = 0) AS reserved
    FROM usage WHERE (settled = 1 OR expires_at > :now) AND kind = 'model' GROUP BY name ORDER BY name"""
_TOOL_CALLS = """SELECT {column} AS name, count(*) AS calls FROM
    (SELECT run_id, tenant, ended_at AS at FROM steps WHERE status IN ('completed', 'failed')
     AND json_extract(result, '$.capability') <> 'agent'
     AND coalesce(json_extract(result, '$.kept_from'), '') = '') ended
    GROUP BY name"""
_CACHED_BY = {"provider": "json_extract(data, '$.provider')", "run": "run_id", "day": "substr(ts, 1, 10)"}
_CACHED_BY |= {"tenant": "tenant"}
_CACHED = """SELECT {column} AS name, sum(json_extract(data, '$.cached_tokens')) AS cached,
    sum(json_extract(data, '$.input_tokens')) AS sent FROM journal
    WHERE type = 'llm_call' AND json_extract(data, '$.error') IS NULL GROUP BY name"""
_OPEN = """SELECT count(*) AS count, coalesce(sum(tokens), 0) AS tokens, coalesce(sum(cost), 0) AS cost
    FROM usage WHERE settled = 0 AND kind = 'model' AND (expires_at > :now) = :open"""
_WINDOW = """SELECT coalesce(sum({column}), 0) AS used, sum(settled = 1 AND cost IS NULL) AS unpriced
    FROM usage WHERE kind = 'model' AND tenant = :tenant AND provider = :provider
    AND at >= :start AND at < :end AND (settled = 1 OR expires_at > :now)"""


def show_usage(by: By, workspace: Path, page: Page, as_json: bool) -> int:
    """Print the usage of a workspace, a page of its rows, and all its limits."""
    settings = load_trusted(workspace)
    usage = usage_of(settings, by, now_of(settings))
    total, rows = len(usage["rows"]), usage["rows"][page.skipped : page.skipped + page.limit]
    if as_json:
        print(json.dumps({**usage, "rows": rows, **page.counts(total)}, ensure_ascii=False, indent=2))
        return 0
    console = views.console()
    if not total:
        print('nothing was used yet; begin a run: planwright run "…"')
    elif rows:
        console.print(_table(by, rows))
    if footer := page.footer(total, len(rows), f"{by}s", f"planwright usage --by {by}"):
        print(footer)
    for limit in usage["limits"]:
        console.print(views.label("limit", _limit(limit)))
    for name, held in usage["reservations"].items():
        if held["count"]:
            text = f"{held['count']} {name}: {held['tokens']:,} tokens, {views.dollars(held['cost'])}"
            console.print(views.label("reserved", text))
    return 0


def usage_of(settings: Settings, by: By, now: datetime) -> Report:
    """Sum up what is recorded. A cost is in micro-cents; what nobody priced is counted beside it.

    `reservations` are those of calls that are being made, and of calls whose process died.
    """
    nothing = {"count": 0, "tokens": 0, "cost": 0}
    if not has_store(settings):
        return {"by": by, "rows": [], "limits": [], "reservations": {"open": nothing, "expired": nothing}}
    database, at = open_store(settings), {"now": now.timestamp()}
    calls = {}
    if by != "provider":
        column = _COLUMNS[by]
        calls = {row["name"]: row["calls"] for row in database.query(_TOOL_CALLS.format(column=column))}
    rows = list(database.query(_COUNTED.format(column=_COLUMNS[by]), at))
    if by != "provider":
        rows = [{**row, "tool_calls": calls.get(row["name"], 0)} for row in rows]
    cached = {row["name"]: row for row in database.query(_CACHED.format(column=_CACHED_BY[by]))}
    rows = [
        {**row, "cached_tokens": 0, "input_tokens": 0, **_cached(cached.get(row["name"]))} for row in rows
    ]
    held = {
        name: next(database.query(_OPEN, {**at, "open": number}))
        for name, number in (("open", 1), ("expired", 0))
    }
    tenants = [row["tenant"] for row in database.query("SELECT DISTINCT tenant FROM usage ORDER BY tenant")]
    limits = [
        limit
        for tenant in tenants or ["default"]
        for provider in settings.providers
        for limit in _limits(settings, database, tenant, provider, now)
    ]
    return {"by": by, "rows": rows, "limits": limits, "reservations": held}


def _cached(row: Report | None) -> Report:
    """Tell how many tokens were sent, and how many of them providers had in their caches."""
    return {"cached_tokens": row["cached"] or 0, "input_tokens": row["sent"] or 0} if row else {}


def _limits(settings: Settings, database: Any, tenant: str, provider: str, now: datetime) -> list[Report]:
    """Say how the limits of a provider stand now for a tenant."""
    within, limits = settings.providers[provider], list[Report]()
    most = None if within.monthly_cost is None else int(within.monthly_cost * MICRO_CENTS_PER_DOLLAR)
    kinds = (
        ("daily_tokens", "tokens", within.daily_tokens, day_of(now)),
        ("monthly_cost", "cost", most, month_of(now)),
    )
    for name, column, limit, window in kinds:
        if limit is None:
            continue
        parameters = {"tenant": tenant, "provider": provider, "start": window.start, "end": window.end}
        (row,) = database.query(_WINDOW.format(column=column), {**parameters, "now": now.timestamp()})
        left = max(limit - row["used"], 0)
        limits.append(
            {"tenant": tenant, "limit": f"providers.{provider}.{name}", "unit": column, "window": window.name}
            | {"used": row["used"], "of": limit, "left": left, "unpriced": row["unpriced"] or 0}
        )
    return limits


def _table(by: By, rows: Sequence[Report]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(by, no_wrap=True)
    named = ["model_calls", "tool_calls", "tokens", "cost", "unpriced", "reserved"]
    if by == "provider":
        named.remove("tool_calls")
    columns = [*named, *(["from a cache"] if any(row["cached_tokens"] for row in rows) else [])]
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right", no_wrap=True)
    for row in rows:
        cells = {name: f"{row[name]:,}" for name in named}
        cells["cost"] = views.dollars(row["cost"]) if row["unpriced"] < row["model_calls"] else "unpriced"
        if len(columns) > len(named):
            cells["cached"] = f"{row['cached_tokens'] / max(row['input_tokens'], 1):.0%}"
        table.add_row(views.one_line(row["name"]), *cells.values())
    return table


def _limit(limit: Report) -> str:
    used, most, left = (views.amount(limit["unit"], limit[name]) for name in ("used", "of", "left"))
    tenant = "" if limit["tenant"] == "default" else f" of tenant {limit['tenant']}"
    unpriced = limit["unpriced"] if limit["unit"] == "cost" else 0
    beside = f"; {unpriced} unpriced calls are not in it" if unpriced else ""
    return f"{limit['limit']}{tenant} in {limit['window']} (UTC): {used} of {most} used, {left} left{beside}"
