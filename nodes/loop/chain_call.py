"""chain_call: make one call of a model's that is a chain, and show the model its result."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.domain.errors import EffectInDoubt
from planwright.execution.call_events import call_fields, emit_end, emit_start
from planwright.execution.step_runner import StepRunner
from planwright.nodes.loop.tool_execution import call_answer
from planwright.nodes.steps.chain_step import RunChain
from planwright.records.consent.gate import gate_id
from planwright.settings.settings import Settings
from planwright.state.chain_state import ChainTask
from planwright.state.invocation import invocation_of
from planwright.state.loop_state import CallDoubt, CallTask, LoopUpdate
from planwright.state.node import Node


def chain_call(run_chain: RunChain, runner: StepRunner, settings: Settings) -> Node[CallTask, LoopUpdate]:
    """Run the chain, or answer from the record when it was run before a crash.

    Where nobody knows whether a part of it happened, the model is not told before a person has been asked.
    """

    async def chain_call(state: CallTask, config: RunnableConfig) -> LoopUpdate:
        invocation, call, loop = invocation_of(config), state["call"], state["loop"]
        checked, step = call.step, call.step.step
        fields = call_fields(checked, loop.lane, call.call_id)
        emit_start(invocation, fields, step.params, checked.uid)
        result = invocation.board.settled(checked.uid)
        if result is None:
            opening = ChainTask(
                checked=checked,
                plan_hash=state["batch"],
                args=step.params,
                gate_id=gate_id(invocation.run_id, "step", checked.gate_subject) if checked.gated else "",
                ask_from=settings.approval.of_tool,
                budgets=loop.budgets,
            )
            result = await run_chain(opening, config)
            if result.code == EffectInDoubt.code:
                return {"doubts": {call.call_id: CallDoubt(call_id=call.call_id, uid=result.part)}}
            runner.record(result, invocation)
        emit_end(invocation, fields, result, checked.uid)
        return {"conversation": [await call_answer(call, result, runner, settings.tools.result_limit)]}

    return chain_call
