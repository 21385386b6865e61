"""plan_gate: write down that a person has to decide over the whole plan."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.approvals.gate import GateQuestion, emit_request, open_gate
from planwright.records.consent.gates import Gates
from planwright.records.plans import Plans
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, AgentUpdate
from planwright.state.invocation import invocation_of
from planwright.state.node import Node


def plan_gate(gates: Gates, plans: Plans, settings: Settings) -> Node[AgentState, AgentUpdate]:
    """Open the plan's gate, once, with the card of the plan on record; the state is not trusted."""

    async def plan_gate(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        plan_hash, card = await plans.card(invocation.run_id, state["gate_id"])
        question = GateQuestion(state["gate_id"], card, plan_hash)
        gate = await gates.open(open_gate(invocation, settings, question), invocation.lease)
        emit_request(gate, invocation)
        return {}

    return plan_gate
