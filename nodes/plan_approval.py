"""plan_approval: wait until a person has decided, and act on the decision that is on record."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.gates import Gate, Gates
from planwright.graph.invocation import invocation_of
from planwright.graph.results import Finding
from planwright.graph.state import AgentState, Attempts
from planwright.nodes.gate import wait_for_decision
from planwright.nodes.node import Node, Update


def plan_approval(gates: Gates, replan_budget: int) -> Node[AgentState]:
    """Interrupt while the gate is open; then approve, plan again, or end the run."""

    async def plan_approval(state: AgentState, config: RunnableConfig) -> Update:
        gate = await wait_for_decision(gates, state["gate_id"], invocation_of(config))
        return rule(gate, state.get("attempts", Attempts()), replan_budget)

    return plan_approval


def rule(gate: Gate, attempts: Attempts, replan_budget: int) -> Update:
    """Turn a decision into what happens next. Nothing but an approval leads to execution."""
    if gate.status == "approved":
        return {"approved": True}
    if gate.status == "expired":
        when = f"{gate.expires_at:%Y-%m-%d %H:%M:%S} UTC"
        return {"status": "expired", "answer": f"Nobody decided before {when}; nothing was run."}
    if gate.status == "cancelled":
        return {"status": "cancelled", "answer": f"Cancelled by {gate.decided_by}; nothing was run."}
    reason = gate.reason or ""
    if reason and attempts.replans < replan_budget:
        finding = Finding(code="rejected", message=reason, fix="plan what the person wants instead")
        tried = attempts.model_copy(update={"replans": attempts.replans + 1})
        return {"plan": None, "findings": [finding], "attempts": tried, "approved": False}
    because = f": {reason}" if reason else ""
    return {
        "status": "rejected",
        "answer": f"The plan was rejected by {gate.decided_by}{because}. Nothing was run.",
    }
