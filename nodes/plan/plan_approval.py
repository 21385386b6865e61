"""plan_approval: wait until a person has decided, and act on the decision that is on record."""

from __future__ import annotations

import asyncio

from langchain_core.runnables import RunnableConfig

from planwright.approvals.gate import trace_gate, wait_for_decision
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.gateway.pins import changed_since
from planwright.capabilities.registry import Registry
from planwright.domain.plan import Plan
from planwright.domain.plan_diff import changes
from planwright.domain.results import Finding
from planwright.records.consent.gate import Gate
from planwright.records.consent.gates import Gates
from planwright.records.consent.tool_answers import ToolAnswers
from planwright.records.plans import Plans
from planwright.state.agent_state import AgentState, AgentUpdate, Attempts, plan_of
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node


def plan_approval(
    gates: Gates,
    answers: ToolAnswers,
    plans: Plans,
    registry: Registry,
    call_context: CallContext,
    replan_budget: int,
) -> Node[AgentState, AgentUpdate]:
    """Interrupt while the gate is open; then approve, verify again, plan again, or end the run."""

    async def plan_approval(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation, plan = invocation_of(config), plan_of(state)
        gate = await wait_for_decision(gates, state["gate_id"], invocation)
        attempts = state.get("attempts", Attempts())
        if gate.status == "approved":
            if gate.remembered is not None:
                await asyncio.to_thread(answers.remember, gate)
            steps = await plans.recorded_steps(invocation.run_id, gate.shown_hash)
            done = (uid for uid in steps if invocation.board.settled(uid))
            if changed := await asyncio.to_thread(changed_since, steps, registry, call_context, [*done]):
                return asked_again(attempts, changed)
        update = apply_decision(gate, plan, attempts, replan_budget, begun=bool(state.get("results")))
        if gate.edited is not None:
            _tell(invocation, gate, gate.edited, update["changes"])
        return update

    return plan_approval


def asked_again(attempts: Attempts, changed: list[str]) -> AgentUpdate:
    """Verify a plan once more, and ask for it again, because what it calls has changed since it was shown."""
    tried = attempts.model_copy(update={"edits": attempts.edits + 1})
    return {"changes": changed, "checked": [], "findings": [], "attempts": tried, "approved": False}


def apply_decision(
    gate: Gate, plan: Plan, attempts: Attempts, replan_budget: int, *, begun: bool = False
) -> AgentUpdate:
    """Turn a decision into what happens next. Nothing but an approval leads to execution.

    A run has `begun` when steps of an earlier plan were run.
    """
    nothing = "nothing more was run" if begun else "nothing was run"
    if gate.status == "approved":
        return {"approved": True, "draft": None}
    if gate.status == "edited" and gate.edited is not None:
        return {"plan": gate.edited, **asked_again(attempts, changes(plan, gate.edited))}
    if gate.status == "expired":
        when = f"{gate.expires_at:%Y-%m-%d %H:%M:%S} UTC"
        return {"status": "expired", "answer": f"Nobody decided before {when}; {nothing}."}
    if gate.status == "cancelled":
        return {"status": "cancelled", "answer": f"Cancelled by {gate.decided_by}; {nothing}."}
    reason = gate.reason or ""
    if reason and attempts.replans_left(replan_budget):
        return _again(gate, plan, attempts, reason)
    because = f": {reason}" if reason else ""
    outcome = "sent back" if gate.status == "responded" else "rejected"
    return {
        "status": "rejected",
        "answer": f"The plan was {outcome} by {gate.decided_by}{because}; {nothing}.",
    }


def _again(gate: Gate, plan: Plan, attempts: Attempts, reason: str) -> AgentUpdate:
    """Tell the planner what the person said, and about which plan."""
    rejected = gate.status == "rejected"
    finding = Finding(
        code="rejected" if rejected else "feedback",
        message=f"by {gate.decided_by}: {reason}" if rejected else reason,
        fix="plan what the person wants instead" if rejected else "change the draft as the person says",
    )
    counts = {"replans": attempts.replans + 1, "responses": attempts.responses + (not rejected)}
    tried = attempts.model_copy(update=counts)
    return {"plan": None, "draft": plan, "findings": [finding], "approved": False, "attempts": tried}


def _tell(invocation: Invocation, gate: Gate, edited: Plan, changed: list[str]) -> None:
    data = {"gate_id": gate.gate_id, "plan_id": edited.plan_id, "revision": edited.revision}
    hashes = {"plan_hash": edited.plan_hash, "before": gate.shown_hash, "changes": changed}
    by = {"reason": gate.reason, "by": gate.decided_by, "channel": gate.channel}
    if invocation.emit("plan_edited", {**data, **hashes, **by}, gate.gate_id):
        trace_gate(gate, invocation)
