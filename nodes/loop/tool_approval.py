"""tool_approval: a person decides over the calls of a reply that ask, before any call of it is made."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig

from planwright.approvals.call_gate import CallGates
from planwright.approvals.card import marked, tool_facts
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.gateway.read_files import files_read, shown_files
from planwright.capabilities.width import width_of
from planwright.domain.errors import CapabilityError
from planwright.domain.risk import EFFECTS, MODES, highest_risk
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.chain_parts import shown_parts
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.loop_state import ApprovalTask, LoopTask, LoopUpdate, ToolCall, calls_to_approve
from planwright.state.node import Node


def tool_approval(gates: CallGates, gateway: Gateway) -> Node[ApprovalTask, LoopUpdate]:
    """Open one gate for the calls that share it, and wait; all gates of a reply are open at once."""

    async def tool_approval(state: ApprovalTask, config: RunnableConfig) -> LoopUpdate:
        invocation, loop = invocation_of(config), state["loop"]
        calls = calls_to_approve(state)
        cards = [_card(call, loop, state["batch"], gateway, invocation) for call in calls]
        card = cards[0] if len(cards) == 1 else reply_card(cards, loop.goal, state["batch"])
        if others := state.get("others"):
            card |= {"others": others}
        first = calls[0]
        put = gates.ask if first.asks else gates.open
        await gates.wait(await put(first.step, card, invocation), invocation)
        return {}

    return tool_approval


def _card(
    call: ToolCall, loop: LoopTask, batch: str, gateway: Gateway, invocation: Invocation
) -> dict[str, Any]:
    checked = call.step
    card = call_card(checked, loop.goal, batch, invocation.words) | {"call_id": call.call_id}
    if call.asks:
        return card
    try:
        args, settled = checked.step.params, invocation.board.settled
        card |= shown_parts(invocation.run_id, checked, args, gateway, settled)
    except CapabilityError as error:  # a part is gone since it was verified: nothing will be called
        card |= {"steps": [], "reason": error.cause}
    capability = gateway.registry.get(checked.step.capability or "")
    if capability is None:
        return card
    files = files_read(capability, checked.step.params, gateway.call_context, checked.effect)
    return card | {"width": width_of(capability, checked.step.params), **shown_files(files)}


def call_card(checked: VerifiedStep, goal: str, batch: str, words: str) -> dict[str, Any]:
    """List one call with its arguments, its risk, why it asks, and what it is for."""
    return {
        "capability": checked.step.capability,
        "step_id": checked.step.id,
        "uid": checked.uid,
        "description": f"{checked.step.description} For: {goal}",
        "args": checked.step.params,
        "risk": checked.risk,
        "mode": checked.mode,
        "effect": checked.effect,
        "reason": checked.reason,
        "plan_hash": batch,
        "policy": checked.policy and checked.policy.model_dump(mode="json"),
        "pin": checked.pin,
        **tool_facts(checked),
        **({"done_before": checked.done_before} if checked.done_before else {}),
        **marked(checked.step.params, words),
    }


def reply_card(cards: list[dict[str, Any]], goal: str, batch: str) -> dict[str, Any]:
    """List several calls of one reply, with the gravest risk, mode and effect among them."""
    return {
        "capability": ", ".join(dict.fromkeys(str(card["capability"]) for card in cards)),
        "step_id": ", ".join(str(card["step_id"]) for card in cards),
        "description": f"{len(cards)} calls at once. For: {goal}",
        "args": {str(card["step_id"]): card["args"] for card in cards},
        "calls": cards,
        "risk": highest_risk(*(card["risk"] for card in cards)),
        "mode": max((card["mode"] for card in cards), key=MODES.index),
        "effect": max((card["effect"] for card in cards), key=EFFECTS.index),
        "reason": "; ".join(dict.fromkeys(str(card["reason"]) for card in cards)),
        "plan_hash": batch,
        "policy": None,
    }
