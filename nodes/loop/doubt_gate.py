"""doubt_gate: what nobody knows of the calls of a reply is put before a person, not before the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Send

from planwright.approvals.card import doubt_list
from planwright.approvals.gate import GateQuestion, emit_request, open_gate, wait_for_decision
from planwright.domain.doubt import NOBODY_KNOWS, Doubt
from planwright.domain.errors import EffectInDoubt
from planwright.domain.hashing import sha256
from planwright.domain.results import StepResult
from planwright.domain.risk import highest_risk
from planwright.execution.step_runner import StepRunner
from planwright.models.conversation.truncation import shorten
from planwright.nodes.loop.parallel_execution import after_calls
from planwright.nodes.loop.tool_execution import LONGEST_ERROR, shown_output, tool_message
from planwright.prompts.fence import fenced, neutral
from planwright.records.consent.gate import Gate, gate_id
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.loop_state import (
    CallDoubt,
    CallTask,
    LoopState,
    LoopUpdate,
    ToolCall,
    calls_in_doubt,
)
from planwright.state.node import Node


def doubt_gate(stores: Stores, runner: StepRunner, settings: Settings) -> Node[LoopState, LoopUpdate]:
    """Open one gate for all effects in doubt of a reply, and tell the model what the person said of each.

    A chain is told nothing yet: it goes on behind its part that happened, or makes it again.
    """

    async def doubt_gate(state: LoopState, config: RunnableConfig) -> LoopUpdate:
        invocation, waiting = invocation_of(config), calls_in_doubt(state)
        if invocation.cancelled_by:
            return _left_by_cancelling(state, invocation.cancelled_by)
        doubts = [d for d in await stores.doubts.of_run(invocation.run_id) if d.uid in waiting]
        calls = {call.call_id: call for call in state["calls"]}
        open_calls = [calls[doubt.call_id] for doubt in waiting.values()]
        card = doubt_card(state["loop"].goal, doubts, open_calls)
        gate = await _decided(card, sorted(waiting), stores, settings, invocation)
        settled = {result.uid: result for result in await stores.ledger.settled_steps(invocation.run_id)}
        invocation.board.learn(settled.values())
        update: dict[str, CallDoubt] = {}
        answers: list[AnyMessage] = []
        for uid, doubt in waiting.items():
            left = settled[uid].code == EffectInDoubt.code
            update[doubt.call_id] = doubt.model_copy(update={"status": "left" if left else "decided"})
            call = calls[doubt.call_id]
            if left or not is_chain(call):
                answers.append(await _answer(call, settled[uid], gate, runner, settings))
        return {"doubts": update, "conversation": answers}

    return doubt_gate


def _left_by_cancelling(state: LoopState, by: str) -> LoopUpdate:
    """Ask nobody in a run that was cancelled; what is in doubt stays so."""
    calls = {call.call_id: call for call in state["calls"]}
    waiting = calls_in_doubt(state).values()
    left = [doubt.model_copy(update={"status": "left"}) for doubt in waiting]
    why = f"nobody knows whether it happened (cancelled by {by})"
    answers: list[AnyMessage] = [_message(calls[doubt.call_id], why) for doubt in left]
    return {"doubts": {doubt.call_id: doubt for doubt in left}, "conversation": answers}


async def _decided(
    card: dict[str, Any], uids: Sequence[str], stores: Stores, settings: Settings, invocation: Invocation
) -> Gate:
    """Open the gate, once, and wait for its decision."""
    id_ = gate_id(invocation.run_id, "escalation", sha256(list(uids)))
    question = GateQuestion(id_, card, sha256(card), kind="escalation")
    gate = await stores.gates.open(open_gate(invocation, settings, question), invocation.lease)
    emit_request(gate, invocation)
    return await wait_for_decision(stores.gates, id_, invocation)


def doubt_card(goal: str, doubts: Sequence[Doubt], calls: Sequence[ToolCall]) -> dict[str, Any]:
    """Show every effect in doubt of a reply with its arguments, and what the answers would do."""
    statement = "it happened" if len(doubts) == 1 else "each of them happened"
    asks = f"Say whether {statement}. Reject: leave it open; the same call is refused until it is decided."
    return {
        "goal": goal,
        "capability": "escalation",
        "step_id": ", ".join(doubt.step_id for doubt in doubts),
        "description": f"{asks} For: {goal}",
        "args": {},
        **doubt_list(doubts, [doubt.step_id for doubt in doubts]),
        "reason": NOBODY_KNOWS,
        "risk": highest_risk(*(call.checked.risk for call in calls if call.checked)),
        "mode": "destructive",
        "effect": "blind",
    }


async def _answer(
    call: ToolCall, result: StepResult, gate: Gate, runner: StepRunner, settings: Settings
) -> ToolMessage:
    """Answer a call with what a person said of it, or the doubt that they left, and why there was one."""
    by, why = gate.decided_by or "nobody", _why(gate, result.uid)
    if result.status == "completed":
        brought = await shown_output(result, runner, settings.tools.result_limit)
        text = f"it happened (confirmed by {by}): {brought}"
        return tool_message(call, f"{text}\nit was asked about, as {why}" if why else text)
    if result.code == EffectInDoubt.code:
        closed = f"{gate.status} by {by}" if gate.decided_by else gate.status
        text = f"nobody knows whether it happened ({closed}); the same call is refused"
    else:
        text = f"it did not happen (says {by}); you may call it again"
    return _message(call, f"{text}\n{fenced(neutral(why))}" if why else text)


def _why(gate: Gate, uid: str) -> str:
    """Read off the card why nobody knew of an effect: the error of its call, shortened."""
    return next((shorten(doubt.why, LONGEST_ERROR) for doubt in gate.doubts if doubt.uid == uid), "")


def _message(call: ToolCall, text: str) -> ToolMessage:
    return tool_message(call, text, ours=True, ok=False)


def is_chain(call: ToolCall) -> bool:
    """Say whether a call is one of a chain, which goes on by itself."""
    return call.checked is not None and call.checked.chain is not None


def after_doubts(state: LoopState) -> list[Send] | str:
    """Go on with the chains whose part is decided, then with the calls that wait, else with the model."""
    answered = {m.tool_call_id for m in state["conversation"] if isinstance(m, ToolMessage)}
    decided = {id_ for id_, doubt in state["doubts"].items() if doubt.status == "decided"}
    return [
        Send("chain_call", CallTask(loop=state["loop"], batch=state["batch"], call=call))
        for call in state["calls"]
        if call.call_id in decided - answered
    ] or after_calls(state)
