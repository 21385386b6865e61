"""What was used, what is left, and how past runs did."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from typing import get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from planwright.extras.audit.evaluation import By, RunCounts, counts_of_runs
from planwright.extras.web.forms import page_route
from planwright.extras.web.parts import shared, visitor_of
from planwright.extras.web.view_models.usage_page import (
    PERIODS,
    SHARES,
    charts,
    days_of,
    evaluation_rows,
    limit_rows,
    run_limits,
)
from planwright.records.history.run_outcomes import ended_runs
from planwright.records.history.usage_history import UsageScope, limits_of, used_by_each

GROUPS: tuple[By, ...] = get_args(By)
MOST_RUNS = 500  # each costs seven short reads


async def serve_first_subject(request: Request) -> Response:
    """Lead to the first of the pages about the workspace."""
    return shared(request).pages.lead("/workspace/usage")


async def serve_usage(request: Request) -> Response:
    """Show what was used in some days, by day, provider and agent, and what is left of the limits."""
    parts, tenant = shared(request), visitor_of(request).tenant
    now, count = parts.agent.door.clock(), _period(request)
    since = (now - timedelta(days=count - 1)).date().isoformat()
    scope = UsageScope(now, tenant, since)
    days, providers, agents = await parts.read(used_by_each, ("day", "provider", "agent"), scope)
    limits = await parts.read(limits_of, [tenant], parts.settings.providers, now)
    values = {
        "period": count,
        "periods": PERIODS,
        "first": since,
        "charts": charts(days_of(days, now.date(), count)),
        "days": days,
        "providers": providers,
        "agents": agents,
        "limits": limit_rows([limit for _, limit in limits]),
        "run_limits": run_limits(parts.settings.budgets.run),
    }
    return parts.pages.page(request, "usage.html", values)


async def serve_evaluation(request: Request) -> Response:
    """Show how the newest runs that have ended did, together or by group."""
    parts, tenant = shared(request), visitor_of(request).tenant
    count, wanted = _period(request), request.query_params.get("by", "")
    by: By = next((name for name in GROUPS if name == wanted), "all")
    since = parts.agent.door.clock() - timedelta(days=count)
    groups = await parts.read(_groups, tenant, since.isoformat(), by)
    values = {
        "period": count,
        "periods": PERIODS,
        "by": by,
        "groups": GROUPS,
        "shares": list(SHARES.values()),
        "rows": evaluation_rows(groups),
        "capped": sum(counts.runs for counts in groups.values()) == MOST_RUNS,
    }
    return parts.pages.page(request, "evaluation.html", values)


def _period(request: Request) -> int:
    """Read of how many days a page tells; what is none of those that are offered is the middle one."""
    wanted = request.query_params.get("days", "")
    return next((days for days in PERIODS if str(days) == wanted), PERIODS[1])


def _groups(connection: sqlite3.Connection, tenant: str, since: str, by: By) -> dict[str, RunCounts]:
    """Count what the newest ended runs of a tenant did, by group."""
    return counts_of_runs(connection, ended_runs(connection, since, tenant, MOST_RUNS), by)


ROUTES: list[BaseRoute] = [
    page_route("/workspace", serve_first_subject),
    page_route("/workspace/usage", serve_usage),
    page_route("/workspace/evaluation", serve_evaluation),
]
