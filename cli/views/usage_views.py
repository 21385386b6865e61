"""What was used, by provider, run, day or tenant, and what is left. Reads only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rich.table import Table

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import has_store, now_of, open_store
from planwright.cli.views.paging import Page
from planwright.presentation.figures import amount_text
from planwright.presentation.rows import Report
from planwright.records.history.usage_history import (
    By,
    UsageScope,
    Used,
    limits_of,
    reserved,
    tenants_with_use,
    unpriced_in,
    used_by,
)
from planwright.records.limits import Limit
from planwright.settings.settings import Settings


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
        console.print(views.label("limit", _limit_text(limit)))
    for name, held in usage["reservations"].items():
        if held["count"]:
            text = f"{held['count']} {name}: {held['tokens']:,} tokens, {views.dollars(held['cost'])}"
            console.print(views.label("reserved", text))
    return 0


def usage_of(settings: Settings, by: By, now: datetime) -> Report:
    """Sum up what is recorded. A cost is in micro-cents; calls without a price are counted beside it.

    `reservations` are those of calls that are being made, and of calls whose process died.
    """
    if not has_store(settings):
        nothing = {"count": 0, "tokens": 0, "cost": 0}
        return {"by": by, "rows": [], "limits": [], "reservations": {"open": nothing, "expired": nothing}}
    store = open_store(settings)
    limits = store.read(limits_of, store.read(tenants_with_use) or ["default"], settings.providers, now)
    return {
        "by": by,
        "rows": [_row(by, used) for used in store.read(used_by, by, UsageScope(now)) if used.model_calls],
        "limits": [_limit(tenant, limit, store.read(unpriced_in, tenant, limit)) for tenant, limit in limits],
        "reservations": {
            "open": store.read(reserved, now, is_open=True),
            "expired": store.read(reserved, now, is_open=False),
        },
    }


def _row(by: By, used: Used) -> Report:
    amounts = ("model_calls", "tokens", "cost", "unpriced", "reserved")
    calls = {} if by == "provider" else {"tool_calls": used.calls}
    sent = {"cached_tokens": used.cached_tokens, "input_tokens": used.input_tokens}
    return {"name": used.name, **{name: getattr(used, name) for name in amounts}, **calls, **sent}


def _limit(tenant: str, limit: Limit, unpriced: int) -> Report:
    """Say how a limit of a provider stands now for a tenant."""
    return {
        "tenant": tenant,
        "limit": limit.setting,
        "unit": limit.unit,
        "window": limit.provider_window.name,
        "used": limit.used,
        "of": limit.most,
        "left": limit.left,
        "unpriced": unpriced,
    }


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


def _limit_text(limit: Report) -> str:
    used, most, left = (amount_text(limit["unit"], limit[name]) for name in ("used", "of", "left"))
    tenant = "" if limit["tenant"] == "default" else f" of tenant {limit['tenant']}"
    unpriced = limit["unpriced"] if limit["unit"] == "cost" else 0
    beside = f"; {unpriced} unpriced calls are not in it" if unpriced else ""
    return f"{limit['limit']}{tenant} in {limit['window']} (UTC): {used} of {most} used, {left} left{beside}"
