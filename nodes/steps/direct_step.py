"""direct_step: one capability call, from waiting for its inputs to its record, in one node."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.execution.step_runner import StepRunner
from planwright.state.agent_state import AgentUpdate, StepTask
from planwright.state.invocation import invocation_of
from planwright.state.node import Node


def direct_step(runner: StepRunner) -> Node[StepTask, AgentUpdate]:
    """Run an ungated step; a lane of several nodes would cost a superstep each."""

    async def direct_step(state: StepTask, config: RunnableConfig) -> AgentUpdate:
        invocation = invocation_of(config)
        ended, results = await runner.inputs(state, invocation)
        result = ended or await runner.run(state, results, invocation)
        return {"results": {result.uid: result}}

    return direct_step
