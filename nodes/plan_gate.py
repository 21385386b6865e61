"""plan_gate: write down that a person has to decide over the whole plan."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.gates import Gate, GateKind, Gates
from planwright.checkpoints.plans import Plans
from planwright.graph.invocation import Invocation, invocation_of
from planwright.graph.settings import Settings
from planwright.graph.state import AgentState
from planwright.nodes.node import Node, Update


def plan_gate(gates: Gates, plans: Plans, settings: Settings) -> Node[AgentState]:
    """Open the plan's gate, once, with the card of the plan on record; the state is not trusted."""

    async def plan_gate(state: AgentState, config: RunnableConfig) -> Update:
        invocation = invocation_of(config)
        plan_hash, card = await plans.card(invocation.run_id, state["gate_id"])
        gate = open_gate(invocation, settings, state["gate_id"], plan_hash, card)
        await gates.open(gate, invocation.lease)
        data = {"gate_id": gate.gate_id, "kind": "plan", "plan_hash": plan_hash}
        invocation.emit(
            "approval_requested", {**data, "expires_at": gate.expires_at.isoformat()}, gate.gate_id
        )
        return {}

    return plan_gate


def open_gate(
    invocation: Invocation,
    settings: Settings,
    gate_id: str,
    shown_hash: str,
    shown: dict[str, Any],
    step_uid: str | None = None,
    kind: GateKind = "plan",
    expires_s: float | None = None,
) -> Gate:
    """Make the row of a gate that opens now and closes by itself, after `expires_s` where that is said."""
    now = invocation.clock()
    ttl: float = invocation.context.gate_ttl_s or settings.sessions.gate_ttl_s
    if invocation.context.gate_ttl_s and step_uid is not None:
        ttl = min(ttl, settings.approval.tool_timeout_s)  # somebody sits there and waits
    return Gate(
        gate_id=gate_id,
        thread_id=invocation.thread_id,
        run_id=invocation.run_id,
        tenant=invocation.context.tenant,
        kind=kind,
        step_uid=step_uid,
        shown_hash=shown_hash,
        shown=shown,
        requested_at=now,
        expires_at=now + timedelta(seconds=expires_s or ttl),
        status="open",
        channel=invocation.context.channel,
    )
