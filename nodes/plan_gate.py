"""plan_gate: write down that a person has to decide over the whole plan."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.gates import Gate, GateKind, Gates
from planwright.graph.invocation import Invocation, invocation_of
from planwright.graph.settings import Settings
from planwright.graph.state import AgentState, Attempts
from planwright.nodes.card import plan_card
from planwright.nodes.node import Node, Update


def plan_gate(gates: Gates, settings: Settings) -> Node[AgentState]:
    """Open the plan's gate, once, with exactly what will be shown."""

    async def plan_gate(state: AgentState, config: RunnableConfig) -> Update:
        invocation, plan = invocation_of(config), state["plan"]
        assert plan is not None
        attempts = state.get("attempts", Attempts())
        left = 0 if state["route"].embedded else attempts.replans_left(settings.planning.replan_budget)
        deep, results = settings.approval.depth == "plan_and_gates", state.get("results", {})
        known, changes = state.get("estimate", {}), state.get("changes", ())
        card = plan_card(plan, state["checked"], changes, results, estimate=known, with_gates=deep)
        shown = {**card, "replans_left": left, **({"fixed": True} if attempts.fixed else {})}
        gate = open_gate(invocation, settings, state["gate_id"], plan.plan_hash, shown)
        await gates.open(gate)
        data = {"gate_id": gate.gate_id, "kind": "plan", "plan_hash": plan.plan_hash}
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
) -> Gate:
    """Make the row of a gate that opens now and closes by itself."""
    now = invocation.clock()
    ttl = invocation.context.gate_ttl_s or settings.sessions.gate_ttl_s
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
        expires_at=now + timedelta(seconds=ttl),
        status="open",
    )
