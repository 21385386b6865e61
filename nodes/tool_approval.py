"""tool_approval: a person decides over one call before any call of its reply is made."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig

from planwright.checkpoints.gates import Gates, gate_id
from planwright.graph.canonical import sha256
from planwright.graph.invocation import invocation_of
from planwright.graph.loop_state import CallTask
from planwright.graph.plan import CheckedStep
from planwright.graph.settings import Settings
from planwright.nodes.gate import wait_for_decision
from planwright.nodes.node import Node, Update
from planwright.nodes.plan_gate import open_gate


def tool_approval(gates: Gates, settings: Settings) -> Node[CallTask]:
    """Open the gate of a call and wait for its decision; one node a call, so all are open at once."""

    async def tool_approval(state: CallTask, config: RunnableConfig) -> Update:
        invocation, checked = invocation_of(config), state["call"].checked
        assert checked is not None
        shown = call_card(checked, state["loop"].goal, state["batch"])
        id_ = gate_id(invocation.run_id, "step", checked.uid)
        gate = open_gate(invocation, settings, id_, sha256(shown), shown, checked.uid)
        await gates.open(gate)
        data = {"gate_id": id_, "kind": "step", "step_id": checked.step.id, "plan_hash": gate.shown_hash}
        invocation.emit("approval_requested", {**data, "expires_at": gate.expires_at.isoformat()}, id_)
        await wait_for_decision(gates, id_, invocation)
        return {}

    return tool_approval


def call_card(checked: CheckedStep, goal: str, batch: str) -> dict[str, Any]:
    """List one call with its arguments, its risk, why it asks, and what it is for."""
    return {
        "capability": checked.step.capability,
        "step_id": checked.step.id,
        "description": f"{checked.step.description} For: {goal}",
        "args": checked.step.params,
        "risk": checked.risk,
        "mode": checked.mode,
        "effect": checked.effect,
        "reason": checked.reason,
        "plan_hash": batch,
    }
