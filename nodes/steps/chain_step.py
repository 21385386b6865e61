"""chain_step: carry out a step of a plan that calls a chain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt

from planwright.approvals.call_gate import CallGates
from planwright.domain.errors import CapabilityError
from planwright.domain.results import StepResult
from planwright.domain.step_ends import failed
from planwright.execution.step_runner import StepRunner
from planwright.nodes.steps.gated_call import refused
from planwright.nodes.steps.request_gate import checked_call
from planwright.state.chain_state import ChainTask
from planwright.state.invocation import invocation_of
from planwright.state.lane_state import LaneState, LaneUpdate
from planwright.state.node import Node

RunChain = Callable[[ChainTask, RunnableConfig], Awaitable[StepResult]]


def chain_step(run_chain: RunChain, runner: StepRunner, gates: CallGates) -> Node[LaneState, LaneUpdate]:
    """Run the chain once its inputs are there and its own gate, if it has one, is approved."""

    async def chain_step(state: LaneState, config: RunnableConfig) -> LaneUpdate:
        invocation, task = invocation_of(config), state["step_task"]
        checked, gate_id = task["checked"], state.get("gate_id", "")
        if settled := invocation.board.settled(checked.uid):
            return {"results": {settled.uid: settled}}
        results = await invocation.board.inputs(task["awaits"], checked.uid)
        if gate_id and (no := refused(await gates.read(gate_id), checked)):
            return {"results": {no.uid: await runner.settle(task, no, invocation)}}
        if again := await runner.turn(task, invocation):
            return {"results": {again.uid: again}}
        with invocation.spans.step(checked):
            missing = runner.begin(task, results, invocation)
            try:
                args = await runner.arguments(task, results, invocation)
                if checked.gates:
                    _, complete = await checked_call(runner, task, args, invocation)
                    await gates.passed(checked, complete, invocation.run_id)
                opening = ChainTask(
                    checked=checked,
                    plan_hash=task["plan_hash"],
                    args=args,
                    gate_id=gate_id,
                    plan_gate=task["plan_gate"],
                    ask_from=runner.approval.of_plan,
                )
                result = await run_chain(opening, config)
            except CapabilityError as error:
                result = failed(checked, error)
            except GraphInterrupt:
                invocation.board.wait_on_gate(checked.uid)
                raise
            result = result.model_copy(update={"missing": missing})
            return {"results": {result.uid: await runner.settle(task, result, invocation)}}

    return chain_step
