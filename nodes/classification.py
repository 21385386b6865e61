"""classification: which capabilities could serve a task, by one ranked search over the registry."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.registry import Registry
from planwright.graph.invocation import invocation_of
from planwright.graph.results import Finding
from planwright.graph.state import AgentState, Attempts
from planwright.nodes.node import Node, Update

SHORTLIST = 32  # all that is built in, and room for some that are not


def classification(registry: Registry) -> Node[AgentState]:
    """Draw up the planner's shortlist; a second look takes the reason of the failure into account."""

    async def classification(state: AgentState, config: RunnableConfig) -> Update:
        surface = registry.within(invocation_of(config).profile)
        rounds = state.get("attempts", Attempts()).reclassifications
        ranked = shortlist(surface, state["task"].task, state.get("findings", []), rounds)
        return {"shortlist": list(dict.fromkeys([*state["tools"], *ranked]))}

    return classification


def shortlist(registry: Registry, task: str, findings: list[Finding], rounds: int) -> list[str]:
    """Rank the registry for a task; every reclassification looks twice as far."""
    reasons = " ".join(finding.message for finding in findings)
    ranked = registry.rank(f"{task} {reasons}", SHORTLIST * 2**rounds)
    closing = [name for name in ("respond", "clarify") if name in registry and name not in ranked]
    return ranked + closing
