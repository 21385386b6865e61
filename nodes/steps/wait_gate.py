"""wait_gate: the lane stands still until a person has decided; other lanes go on."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt

from planwright.approvals.call_gate import CallGates
from planwright.state.invocation import invocation_of
from planwright.state.lane_state import LaneState, LaneUpdate
from planwright.state.node import Node


def wait_gate(gates: CallGates) -> Node[LaneState, LaneUpdate]:
    """Interrupt while the gate is open, and tell the board so that dependents park."""

    async def wait_gate(state: LaneState, config: RunnableConfig) -> LaneUpdate:
        invocation = invocation_of(config)
        try:
            await gates.wait(state["gate_id"], invocation)
        except GraphInterrupt:
            invocation.board.wait_on_gate(state["step_task"]["checked"].uid)
            raise
        return {}

    return wait_gate
