"""tool_approval: a person decides over one call, or answers its question, before any call is made."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.gateway import Gateway
from planwright.graph.errors import CapabilityError
from planwright.graph.invocation import invocation_of
from planwright.graph.loop_state import CallTask
from planwright.graph.plan import CheckedStep
from planwright.nodes.call_gate import CallGates
from planwright.nodes.chain_plan import shown_parts
from planwright.nodes.node import Node, Update


def tool_approval(gates: CallGates, gateway: Gateway) -> Node[CallTask]:
    """Open the gate of a call and wait for its decision; one node a call, so all are open at once."""

    async def tool_approval(state: CallTask, config: RunnableConfig) -> Update:
        invocation, checked = invocation_of(config), state["call"].checked
        assert checked is not None
        shown = call_card(checked, state["loop"].goal, state["batch"])
        try:
            args, settled = checked.step.params, invocation.board.settled
            shown |= shown_parts(invocation.run_id, checked, args, gateway, settled)
        except CapabilityError as error:  # a part is gone since it was verified: nothing will be called
            shown |= {"steps": [], "reason": error.cause}
        put = gates.ask if state["call"].asks else gates.open
        await gates.wait(await put(checked, shown, invocation), invocation)
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
        "policy": checked.policy and checked.policy.model_dump(mode="json"),
        "pin": checked.pin,
        **({"done_before": checked.done_before} if checked.done_before else {}),
    }
