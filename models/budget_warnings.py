"""Warn before a limit is reached: once a run for each limit, when 80 % of it is used."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planwright.records.budget_usage import is_limited
from planwright.records.budgets import Budgets
from planwright.records.limits import Limit
from planwright.settings.provider_budget import ProviderBudgetSettings
from planwright.state.invocation import Invocation


async def warn(
    budgets: Budgets, invocation: Invocation, provider: str = "", within: ProviderBudgetSettings | None = None
) -> None:
    """Tell which limits of the run, and of the provider that was asked, are nearly used up."""
    limits, now = invocation.profile.limits, invocation.clock()
    if (limits.tokens, limits.model_calls, limits.tool_calls, limits.cost) != (None,) * 4 or is_limited(
        within
    ):
        for limit in await budgets.near(invocation.lease, limits, now, provider, within):
            invocation.emit("budget_update", warning_fields(limit), limit.key)
    if limits.wall_clock_s is not None:
        used, most = int(invocation.worked_s), int(limits.wall_clock_s)
        time = Limit(limits.setting("wall_clock_s"), "seconds", used, most)
        if time.near:
            invocation.emit("budget_update", warning_fields(time), time.key)


def warning_fields(limit: Limit) -> Mapping[str, JsonValue]:
    """Describe a limit that is nearly used up; a cost is in micro-cents."""
    fields: dict[str, JsonValue] = {"limit": limit.setting, "unit": limit.unit, "used": limit.used}
    fields |= {"of": limit.most, "left": limit.left, "percent": limit.used * 100 // max(limit.most, 1)}
    return fields | ({"window": limit.window.name} if limit.window else {})
