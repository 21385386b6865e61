"""parallel_execution: sort the calls of a reply into those that run, all at once, and those that do not."""

from __future__ import annotations

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Send

from planwright.checkpoints.gates import Gate, gate_id
from planwright.graph.invocation import invocation_of
from planwright.graph.loop_state import CallTask, LoopState, ToolCall
from planwright.nodes.call_gate import CallGates
from planwright.nodes.node import Node, Update


def parallel_execution(gates: CallGates) -> Node[LoopState]:
    """Read how the gates were decided, and answer every call that will not be made with the reason."""

    async def parallel_execution(state: LoopState, config: RunnableConfig) -> Update:
        invocation = invocation_of(config)
        calls = []
        for call in state["calls"]:
            if call.checked is not None and call.checked.gated and not call.error:
                id_ = gate_id(invocation.run_id, "step", call.checked.uid)
                error = why_not(await gates.read(id_, invocation))
                calls.append(call.model_copy(update={"error": error}))
            else:
                calls.append(call)
        return {"calls": calls, "conversation": [refusal(call) for call in calls if call.error]}

    return parallel_execution


def why_not(gate: Gate) -> str:
    """Say why a call must not be made; nothing but an approval opens the way."""
    if gate.status == "approved":
        return ""
    if gate.status == "expired":
        return "not made: nobody approved it in time"
    reason = f": {gate.reason}" if gate.reason else ""
    return f"not made: {gate.status} by {gate.decided_by}{reason}"


def refusal(call: ToolCall) -> ToolMessage:
    """Answer a call that is not made."""
    return ToolMessage(call.error, tool_call_id=call.call_id, id=f"{call.call_id}_result", status="error")


def runnable(state: LoopState) -> list[Send]:
    """Send every call that may run on its way, one `Send` each; results come back in call order."""
    return [
        Send("tool_execution", CallTask(loop=state["loop"], batch=state["batch"], call=call))
        for call in state["calls"]
        if not call.error
    ]
