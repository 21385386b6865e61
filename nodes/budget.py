"""budget: refuse a run that has nothing left to spend, before any model is called."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.budgets import MICRO_CENTS_PER_DOLLAR, Budgets, Spent
from planwright.graph.agent_settings import RunBudget
from planwright.graph.errors import BudgetExceeded
from planwright.graph.invocation import invocation_of
from planwright.graph.state import AgentState
from planwright.nodes.node import Node, Update, ending


def budget(budgets: Budgets) -> Node[AgentState]:
    """End the run with a `budget_exceeded` answer when a limit is already reached."""

    async def budget(state: AgentState, config: RunnableConfig) -> Update:
        invocation = invocation_of(config)
        spent = await budgets.spent(invocation.run_id, invocation.clock())
        limit = reached(spent, invocation.profile.limits)
        if limit is None:
            return {}
        error = BudgetExceeded(
            limit,
            f"{limit} is reached; no model was called",
            f"raise {limit} in planwright.toml, then run again",
        )
        return ending("budget_exceeded", error)

    return budget


def reached(spent: Spent, limits: RunBudget) -> str | None:
    """Name the first limit with nothing left."""
    cost = None if limits.cost is None else int(limits.cost * MICRO_CENTS_PER_DOLLAR)
    pairs = (("tokens", spent.tokens, limits.tokens), ("cost", spent.cost, cost))
    return next(
        (limits.setting(name) for name, used, limit in pairs if limit is not None and used >= limit), None
    )
