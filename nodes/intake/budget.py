"""budget: refuse a run that has nothing left to spend, and bench providers that are over their limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from langchain_core.runnables import RunnableConfig

from planwright.domain.errors import BudgetExceeded
from planwright.models.budget_warnings import warning_fields
from planwright.models.providers.router import Router
from planwright.presentation.figures import amount_text
from planwright.records.budgets import Budgets
from planwright.records.limits import Limit, shortage_of, standing, waiting
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import invocation_of
from planwright.state.node import Node, ending


def budget(budgets: Budgets, router: Router) -> Node[AgentState, AgentUpdate]:
    """End the run with a `budget_exceeded` answer when a limit is reached that no provider gets around."""

    async def budget(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        invocation.check_time()
        now, tenant = invocation.clock(), invocation.context.tenant
        limits = await budgets.of_run(invocation.lease, invocation.profile.limits, now)
        if (limit := reached_limit(limits)) is not None:
            raise spent(limit)
        candidates = router.candidates(invocation.profile.model)
        stand = {
            name: await budgets.of_provider(tenant, name, provider, now)
            for name, provider in candidates.items()
        }
        benched = over(stand)
        for limit in benched.values():
            event_fields = {**warning_fields(limit), "benched": limit.provider}
            invocation.emit("budget_update", event_fields, f"benched:{limit.key}")
        if candidates and benched.keys() == candidates.keys():
            return ending("budget_exceeded", nobody_left(list(benched.values())))
        return {"benched": list(benched)}

    return budget


def reached_limit(limits: Iterable[Limit]) -> Limit | None:
    """Find the first limit of a run that leaves nothing for a model; one of tool calls does."""
    return next(
        (limit for limit in limits if limit.unit in ("tokens", "model_calls", "cost") and limit.reached), None
    )


def over(stand: Mapping[str, Iterable[Limit]]) -> dict[str, Limit]:
    """Name the providers that are over a limit of theirs, and the first such limit."""
    reached_limits = {name: [limit for limit in limits if limit.reached] for name, limits in stand.items()}
    return {name: limits[0] for name, limits in reached_limits.items() if limits}


def spent(limit: Limit) -> BudgetExceeded:
    """Say that the budget of a run is spent."""
    used = f"{amount_text(limit.unit, limit.used)} used of {amount_text(limit.unit, limit.most)}"
    return BudgetExceeded(
        limit.setting,
        f"{limit.setting} is reached ({used}); no model was called",
        f"raise {limit.setting} in planwright.toml, then run again",
        shortage_of(limit),
    )


def nobody_left(limits: list[Limit]) -> BudgetExceeded:
    """Say that every provider is over its limit, and which one that is."""
    standings = "; ".join(standing(limit) for limit in limits)
    return BudgetExceeded(
        limits[0].setting,
        f"{', '.join(limit.setting for limit in limits)} reached; no model was called. {standings}",
        f"{waiting(limits[0])}, then run again",
    )
