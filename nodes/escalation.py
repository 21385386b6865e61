"""escalation: wait for the person who decides over steps that failed, and do as they say."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.gates import Gate
from planwright.checkpoints.stores import Stores
from planwright.graph.invocation import invocation_of
from planwright.graph.results import Finding
from planwright.graph.state import AgentState, Attempts
from planwright.nodes.gate import wait_for_decision
from planwright.nodes.node import Node, Update


def escalation(stores: Stores) -> Node[AgentState]:
    """Run again, go on with what happened, plan again, or end: never without the person's word.

    What they said of effects in doubt is on record since they said it; here only the steps are read again.
    """

    async def escalation(state: AgentState, config: RunnableConfig) -> Update:
        invocation = invocation_of(config)
        gate = await wait_for_decision(stores.gates, state["gate_id"], invocation)
        settled = {result.uid: result for result in await stores.ledger.settled_steps(invocation.run_id)}
        invocation.board.learn(settled.values())
        known = {uid: result for uid, result in settled.items() if uid in state["results"]}
        return {**rule(gate, state.get("attempts", Attempts())), "results": known, "approved": False}

    return escalation


def rule(gate: Gate, attempts: Attempts) -> Update:
    """Turn a decision into what happens next: verify the same plan again, make another, or end."""
    tried = attempts.model_copy(update={"escalations": attempts.escalations + 1})
    if gate.status == "approved" or (gate.status == "responded" and gate.effects):
        return {"verdict": None, "attempts": tried, "findings": []}
    if gate.status == "responded":
        said = Finding(code="feedback", message=gate.reason or "", fix="plan what the person says")
        again = {"replans": tried.replans + 1, "responses": tried.responses + 1}
        return {"verdict": None, "attempts": tried.model_copy(update=again), "findings": [said], "plan": None}
    return {}
