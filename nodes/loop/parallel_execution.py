"""parallel_execution: sort the calls of a reply into those that run, all at once, and those that do not."""

from __future__ import annotations

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Send

from planwright.approvals.call_gate import CallGates
from planwright.checkpoints.consent.gate import Gate, GateKind, gate_id
from planwright.checkpoints.memory_proposals import Proposals
from planwright.domain.memory_proposal import Candidate
from planwright.domain.plan import DELEGATE
from planwright.prompts.fence import OURS
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.loop_state import CallTask, LoopState, LoopUpdate, ToolCall
from planwright.state.node import Node

WHY = "a model wants to remember it, and you did not say it in these words"


def parallel_execution(gates: CallGates, proposals: Proposals) -> Node[LoopState, LoopUpdate]:
    """Read how the gates were decided, and answer every call that will not be made with the reason."""

    async def parallel_execution(state: LoopState, config: RunnableConfig) -> LoopUpdate:
        invocation = invocation_of(config)
        calls: list[ToolCall] = []
        decided: dict[str, Gate] = {}
        for call in state["calls"]:
            if call.proposed:
                calls.append(await _proposed(call, proposals, invocation))
                continue
            if not call.waits or call.checked is None:
                calls.append(call)
                continue
            kind: GateKind = "info" if call.asks else "step"
            id_ = gate_id(invocation.run_id, kind, call.checked.gate_subject)
            if id_ not in decided:  # the calls of a reply may all share one
                decided[id_] = await gates.read(id_)
            calls.append(call.model_copy(update=outcome(decided[id_])))
        return {
            "calls": calls,
            "conversation": [answer_message(call) for call in calls if call.error or call.answer],
        }

    return parallel_execution


async def _proposed(call: ToolCall, proposals: Proposals, invocation: Invocation) -> ToolCall:
    """Propose what a model would remember by itself: nothing is kept before a person accepts it."""
    candidate = Candidate(said=call.proposed, text=call.proposed, why=WHY)
    id_ = await proposals.add(invocation.lease, candidate, invocation.clock())
    data = {**candidate.model_dump(mode="json", include={"text", "said", "tags", "why"}), "id": id_}
    invocation.emit("memory_proposed", data, id_)
    return call.model_copy(update={"answer": f"not remembered yet: proposed to the user as {id_}"})


def outcome(gate: Gate) -> dict[str, str]:
    """Say what became of a call that waited: nothing yet, a person's answer, or why it is not made."""
    if gate.kind == "info" and gate.status == "responded":
        return {"answer": gate.reason or ""}
    return {"error": why_not_called(gate)}


def why_not_called(gate: Gate) -> str:
    """Say why a call must not be made; nothing but an approval opens the way."""
    if gate.status == "approved":
        return ""
    if gate.status == "expired":
        return "not made: nobody approved it in time"
    reason = f": {gate.reason}" if gate.reason else ""
    return f"not made: {gate.status} by {gate.decided_by}{reason}"


def answer_message(call: ToolCall) -> ToolMessage:
    """Answer a call that is not made: with the reason, or with what a person said."""
    return ToolMessage(
        call.error or call.answer,
        tool_call_id=call.call_id,
        id=f"{call.call_id}_result",
        additional_kwargs=OURS,
        status="error" if call.error else "success",
    )


def runnable(state: LoopState) -> list[Send]:
    """Send every call that may run on its way, one `Send` each; results come back in call order."""
    loop, batch = state["loop"], state["batch"]
    return [
        Send(maker_of(call), CallTask(loop=loop, batch=batch, call=call))
        for call in state["calls"]
        if call.capability and not call.asks
    ]


def maker_of(call: ToolCall) -> str:
    """Name the node that makes a call."""
    if call.capability == DELEGATE:
        return "sub_agent"
    return "chain_call" if call.checked and call.checked.chain else "tool_execution"
