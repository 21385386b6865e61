"""escalation: wait for the person who decides over steps that failed, and do as they say."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.approvals.gate import wait_for_decision
from planwright.critic.gathering import retried
from planwright.domain.plan import Plan
from planwright.domain.results import Finding, RunVerdict
from planwright.records.consent.gate import Gate
from planwright.records.stores import Stores
from planwright.records.verdicts import Ruled
from planwright.state.agent_state import AgentState, AgentUpdate, Attempts, plan_of, verdict_of
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node


def escalation(stores: Stores) -> Node[AgentState, AgentUpdate]:
    """Accept, run again, go on with what happened, plan again, or end: never without the person's word.

    What they said of effects in doubt is on record since they said it; here only the steps are read again.
    """

    async def escalation(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        gate = await wait_for_decision(stores.gates, state["gate_id"], invocation)
        settled = {result.uid: result for result in await stores.ledger.settled_steps(invocation.run_id)}
        invocation.board.learn(settled.values())
        settled |= retried(await stores.verdicts.of_run(invocation.run_id), settled)
        known = {uid: result for uid, result in settled.items() if uid in state["results"]}
        update: AgentUpdate = {"results": known, "approved": False, "escalates": False}
        if gate.status == "approved" and gate.card.get("approve") == "accept":
            return {**update, "verdict": await _accept(gate, state, invocation)}
        return {**apply_escalation(gate, plan_of(state), state.get("attempts", Attempts())), **update}

    async def _accept(gate: Gate, state: AgentState, invocation: Invocation) -> RunVerdict:
        """Put it on record that a person accepts what the critic did not."""
        plan, refused = plan_of(state), verdict_of(state)
        by = gate.decided_by or ""
        reason = f"accepted as it is by {by}: {refused.reason}"
        verdict = refused.model_copy(update={"verdict": "accept", "reason": reason, "decided_by": by})
        stores.verdicts.add(invocation.lease, Ruled(gate.gate_id, plan, verdict), invocation.clock())
        event_fields = {"plan_id": plan.plan_id, "verdict": "accept", "reason": reason, "decided_by": by}
        invocation.emit("verdict", {**event_fields, "not_judged": list(verdict.not_judged)}, gate.gate_id)
        return verdict

    return escalation


def apply_escalation(gate: Gate, plan: Plan, attempts: Attempts) -> AgentUpdate:
    """Turn a decision into what happens next: verify the same plan again, make another, or end."""
    tried = attempts.model_copy(update={"escalations": attempts.escalations + 1})
    if gate.status == "approved" or (gate.status == "responded" and gate.effects):
        return {"verdict": None, "attempts": tried, "findings": []}
    if gate.status == "responded":
        finding = Finding(code="feedback", message=gate.reason or "", fix="plan what the person says")
        again = {"replans": tried.replans + 1, "responses": tried.responses + 1}
        return {
            "verdict": None,
            "attempts": tried.model_copy(update=again),
            "findings": [finding],
            "plan": None,
            "draft": plan,
        }
    return {}
