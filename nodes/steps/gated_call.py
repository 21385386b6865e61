"""gated_call: make the call a person approved, or settle that it was not."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.approvals.call_gate import CallGates
from planwright.domain.results import StepResult, StepStatus
from planwright.domain.step_ends import bare_result
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.step_runner import StepRunner
from planwright.records.consent.gate import Gate
from planwright.state.invocation import invocation_of
from planwright.state.lane_state import LaneState, LaneUpdate
from planwright.state.node import Node


def gated_call(runner: StepRunner, gates: CallGates) -> Node[LaneState, LaneUpdate]:
    """Act on the decision row of this lane's own gate."""

    async def gated_call(state: LaneState, config: RunnableConfig) -> LaneUpdate:
        invocation, task = invocation_of(config), state["step_task"]
        gate = await gates.read(state["gate_id"])
        if settled := invocation.board.settled(task["checked"].uid):
            return {"results": {settled.uid: settled}}
        if no := refused(gate, task["checked"]):
            result = await runner.settle(task, no, invocation)
        else:
            results = await invocation.board.inputs(task["awaits"], task["checked"].uid)
            result = await runner.run({**task, "edited": edited(gate)}, results, invocation)
        return {"results": {result.uid: result}}

    return gated_call


def edited(gate: Gate) -> dict[str, JsonValue] | None:
    """Read the arguments that a person gave a call at its gate; None where it is made as it was shown."""
    return next((over.args for over in gate.by_call), None)


def refused(gate: Gate, checked: VerifiedStep) -> StepResult | None:
    """Make the result of a call that nobody approved; None for an approval, and nothing else."""
    over = next(iter(gate.by_call), None)
    if gate.status == "approved" and (over is None or over.makes_it):
        return None
    by = f" by {gate.decided_by}" if gate.decided_by else ""
    why = (over.reason if over else gate.reason) or (
        "nobody decided in time" if gate.status == "expired" else "no reason given"
    )
    status: StepStatus = "skipped" if gate.status == "cancelled" else "rejected"
    code = "rejected" if gate.status in ("approved", "responded") else gate.status
    return bare_result(checked, status, code=code, error=f"{code}{by}: {why}")
