"""parallel_execution: sort the calls of a reply into those that run now, later, and not at all."""

from __future__ import annotations

from collections.abc import Container, Mapping

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Send

from planwright.approvals.call_gate import CallGates
from planwright.capabilities.gateway.gateway import Gateway
from planwright.domain.errors import CapabilityChanged
from planwright.domain.hashing import same
from planwright.domain.memory_proposal import Candidate
from planwright.domain.plan import DELEGATE
from planwright.execution.grants import LoopTools
from planwright.execution.tool_calls import record_calls
from planwright.nodes.loop.tool_execution import tool_message
from planwright.planning.reply_order import due, failed_calls, has_later, held_back, open_calls
from planwright.records.consent.gate import Gate, GateKind, gate_id
from planwright.records.effects.doubts import begun_uids
from planwright.records.memory_proposals import Proposals
from planwright.records.stores import Stores
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.loop_state import CallTask, LoopState, LoopUpdate, ToolCall, calls_in_doubt
from planwright.state.node import Node

WHY = "a model wants to remember it, and you did not say it in these words"


def parallel_execution(gates: CallGates, gateway: Gateway, own: LoopTools) -> Node[LoopState, LoopUpdate]:
    """Read how the gates were decided, and answer every call that will not be made with the reason.

    A call that has changed since it was verified is verified once more, and asked about if it was approved;
    so is, at its turn, one that could not be verified before. An effect behind one that did not happen is
    not made.
    """

    async def parallel_execution(state: LoopState, config: RunnableConfig) -> LoopUpdate:
        if calls_in_doubt(state):
            return {}  # a person is asked first
        invocation, stores, decided = invocation_of(config), own.stores, dict[str, Gate]()
        left = {call.call_id for call in open_calls(state)}
        calls = [
            await _decided(call, gates, stores, decided, invocation) if call.call_id in left else call
            for call in state["calls"]
        ]
        calls, edited = await _with_edits(calls, decided, own, invocation)
        calls, stage, anew = await _with_turn(calls, left, state, own, invocation)
        for n, call in enumerate(calls):
            if call.call_id in left and await _has_changed(call, gateway, stores, invocation):
                calls[n] = await own.reader.anew(call, invocation)
                anew.add(call.call_id)
        asking = [call.call_id for call in calls if call.call_id in anew and call.waits]
        update: LoopUpdate = {"calls": calls, "stage": stage, "asked_anew": asking}
        if anew or edited:
            loop, key = state["loop"], f"{state['loop'].lane}.{state['turn']}"
            update["batch"] = await record_calls(calls, loop.goal, key, stores.plans, invocation)
        answered = [call for call in calls if call.call_id in left and (call.error or call.answer)]
        update["conversation"] = [answer_message(call) for call in answered]
        return update

    return parallel_execution


async def _with_turn(
    calls: list[ToolCall], left: Container[str], state: LoopState, own: LoopTools, invocation: Invocation
) -> tuple[list[ToolCall], int, set[str]]:
    """Find the next calls that can be made, and their stage; name those that are verified only now.

    What stands before them and will not be made has the reason then.
    """
    failed, anew, calls = failed_calls(state), set[str](), list(calls)
    while waiting := [call for call in calls if call.to_make and call.call_id in left]:
        stage = min(call.stage for call in waiting)
        for call in waiting:
            if call.stage > stage:
                continue
            if why := held_back(call, calls, failed):
                calls[call.index] = call.model_copy(update={"error": why})
            elif call.late:
                calls[call.index] = await _verified_now(state, call, own, invocation)
                anew.add(call.call_id)
        if any(calls[call.index].to_make for call in waiting if call.stage == stage):
            return calls, stage, anew
    return calls, state.get("stage", 0), anew


async def _verified_now(state: LoopState, call: ToolCall, own: LoopTools, invocation: Invocation) -> ToolCall:
    read = await own.verified_now(state, call, invocation)
    return await _proposed(read, own.stores.proposals, invocation) if read.proposed else read


async def _decided(
    call: ToolCall, gates: CallGates, stores: Stores, decided: dict[str, Gate], invocation: Invocation
) -> ToolCall:
    """Say of a call that waited, or is only proposed, what became of it; `decided` has the gates read."""
    if call.proposed and not call.answer:
        return await _proposed(call, stores.proposals, invocation)
    if not call.waits or call.checked is None:
        return call
    kind: GateKind = "info" if call.asks else "step"
    id_ = gate_id(invocation.run_id, kind, call.checked.gate_subject)
    if id_ not in decided:  # the calls of a reply may all share one
        decided[id_] = await gates.read(id_)
    return call.model_copy(update=outcome(decided[id_], call.checked.uid))


async def _with_edits(
    calls: list[ToolCall], decided: Mapping[str, Gate], own: LoopTools, invocation: Invocation
) -> tuple[list[ToolCall], bool]:
    """Put the arguments of people in the place of a model's; say whether there are any."""
    edits = {
        call.index: over.args
        for call in calls
        for gate in decided.values()
        if call.waits and call.checked and call.checked.gate_subject == gate.step_uid
        if (over := gate.over_call(call.checked.uid)) and over.args is not None
        if not same(over.args, call.checked.step.params)
    }
    read = [
        await own.reader.edited(call, edits[call.index], invocation) if call.index in edits else call
        for call in calls
    ]
    return read, bool(edits)


async def _has_changed(call: ToolCall, gateway: Gateway, stores: Stores, invocation: Invocation) -> bool:
    """Say whether a call that would be made is another by now, and was not begun as the one that it was."""
    if not call.capability or call.asks or call.checked is None or call.capability == DELEGATE:
        return False
    if invocation.board.settled(call.checked.uid):
        return False
    try:
        await gateway.check_new(call.checked, invocation.lease)
    except CapabilityChanged:
        return call.checked.uid not in await begun_uids(stores.database, invocation.run_id)
    return False


async def _proposed(call: ToolCall, proposals: Proposals, invocation: Invocation) -> ToolCall:
    """Propose what a model would remember by itself: nothing is kept before a person accepts it."""
    candidate = Candidate(said=call.proposed, text=call.proposed, why=WHY)
    id_ = await proposals.add(invocation.lease, candidate, invocation.clock())
    data = {**candidate.model_dump(mode="json", include={"text", "said", "tags", "why"}), "id": id_}
    invocation.emit("memory_proposed", data, id_)
    return call.model_copy(update={"answer": f"not remembered yet: proposed to the user as {id_}"})


def outcome(gate: Gate, uid: str) -> dict[str, object]:
    """Say what became of a call that waited: nothing yet, a person's answer, or why it is not made."""
    over = gate.over_call(uid)
    answered = over.answer == "respond" if over else gate.status == "responded"
    if answered:
        words = (over.reason if over else gate.reason) or ""
        return {"answer": words} if gate.kind == "info" else {"answer": words, "checked": None}
    if not (why := why_not_called(gate, uid)):
        return {"words": gate.words_with(uid)}
    return {"error": why, "left_out": gate.status == "approved"}


def why_not_called(gate: Gate, uid: str) -> str:
    """Say why a call must not be made; nothing but an approval opens the way."""
    over = gate.over_call(uid)
    if gate.status == "approved" and (over is None or over.makes_it):
        return ""
    if gate.status == "expired":
        return "not made: nobody approved it in time"
    words = over.reason if over else gate.reason
    reason = f": {words}" if words else ""
    return f"not made: {'rejected' if over else gate.status} by {gate.decided_by}{reason}"


def answer_message(call: ToolCall) -> ToolMessage:
    """Answer a call that is not made: with the reason, or with what a person said."""
    return tool_message(call, call.error or call.answer, ours=True, ok=not call.error)


def runnable(state: LoopState) -> list[Send]:
    """Send the calls whose turn it is on their way, one `Send` each; results come back in call order."""
    loop, batch = state["loop"], state["batch"]
    return [Send(maker_of(call), CallTask(loop=loop, batch=batch, call=call)) for call in due(state)]


def after_calls(state: CallTask | LoopState) -> str:
    """Go on with the calls of the reply that waited for those just made, else with the model."""
    waiting = has_later(state.get("calls", ()), state.get("stage", 0))
    return "parallel_execution" if waiting else "llm_invoker"


def maker_of(call: ToolCall) -> str:
    """Name the node that makes a call."""
    if call.capability == DELEGATE:
        return "sub_agent"
    return "chain_call" if call.checked and call.checked.chain else "tool_execution"
