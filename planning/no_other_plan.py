"""A run that has had effects, and gets no other plan after what went wrong, is put before a person."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.node import Node

WITHOUT_PLAN = ("failed", "refused")


def asks_where_acted(node: Node[AgentState, AgentUpdate]) -> Node[AgentState, AgentUpdate]:
    """Turn the end of a run that gets no other plan into a question, where something has been done."""

    async def guarded(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        update = await node(state, config)
        return no_other_plan(state, update) or update

    guarded.__name__ = getattr(node, "__name__", "node")
    return guarded


def no_other_plan(state: AgentState, update: AgentUpdate) -> AgentUpdate | None:
    """Go back to the plan that was carried out, and escalate it; None where nothing of it was done."""
    verdict, plan, results = state.get("verdict"), state.get("executed"), state.get("results", {})
    if update.get("status") not in WITHOUT_PLAN or plan is None or verdict is None:
        return None
    pairs = [(entry, results[entry.uid]) for entry in state["checked"] if entry.uid in results]
    if verdict.verdict != "replan" or not any(acted(entry, result) for entry, result in pairs):
        return None
    reason = f"{verdict.reason}; and there is no other plan: {update['answer']}"
    escalated = verdict.model_copy(update={"verdict": "escalate", "reason": reason})
    return {"plan": plan, "verdict": escalated, "escalates": True, "status": "running", "findings": []}


def acted(checked: VerifiedStep, result: StepResult) -> bool:
    """Say whether a step has changed something, or may have."""
    begun = result.envelope is not None and any(effect.begun for effect in result.envelope.effects)
    return begun or (checked.effect != "pure" and result.status == "completed" and not checked.step.agentic)
