"""await_inputs: the first node of a gated lane waits for what its step needs."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.execution.step_runner import StepRunner
from planwright.state.invocation import invocation_of
from planwright.state.lane_state import LaneState, LaneUpdate
from planwright.state.node import Node


def await_inputs(runner: StepRunner) -> Node[LaneState, LaneUpdate]:
    """Wait on the board; end the lane when the step has ended already or is skipped."""

    async def await_inputs(state: LaneState, config: RunnableConfig) -> LaneUpdate:
        ended, _ = await runner.inputs(state["step_task"], invocation_of(config))
        return {"results": {ended.uid: ended}} if ended else {}

    return await_inputs
