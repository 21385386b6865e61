"""agentic_step: a step that names tools instead of one call is done by a model, in a loop of its own."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt

from planwright.domain.errors import CapabilityChanged, SetupError
from planwright.domain.step_ends import bare_result
from planwright.execution.declared_output import with_declared_output
from planwright.execution.lane_envelope import Envelopes
from planwright.execution.loop_ends import Loop, limited, loop_outcome, step_opening, step_result
from planwright.execution.step_runner import StepRunner
from planwright.models.calling import Models
from planwright.nodes.steps.another_approach import refused_before
from planwright.planning.model_hints import route_of_step, unmet_result
from planwright.settings.settings import Settings
from planwright.state.invocation import invocation_of
from planwright.state.lane_state import LaneState, LaneUpdate
from planwright.state.node import Node
from planwright.state.step_board import parked_if_drained


def agentic_step(
    subgraph: Loop, runner: StepRunner, models: Models, envelopes: Envelopes, settings: Settings
) -> Node[LaneState, LaneUpdate]:
    """Do a step of a plan that names tools instead of one call, by the model its hint asks for.

    The last words of the model are the output of the step, where its calls bear them out, or the fields in
    them that the step declares. A step that has had an effect goes on where it stopped, whatever changed
    meanwhile: its further calls are judged by what is there now, and ask from Low risk on.
    """

    async def agentic_step(state: LaneState, config: RunnableConfig) -> LaneUpdate:
        invocation, task = invocation_of(config), state["step_task"]
        results = await invocation.board.inputs(task["awaits"], task["checked"].uid)
        if again := await runner.turn(task, invocation):
            return {"results": {again.uid: again}}
        with invocation.spans.step(task["checked"]):
            missing = runner.begin(task, results, invocation)
            try:
                await runner.gateway.check_new(task["checked"], invocation.lease)
                route = route_of_step(models.router, task, invocation)
            except SetupError as error:
                failed = unmet_result(task["checked"], error)
                return {"results": {failed.uid: await runner.settle(task, failed, invocation)}}
            except CapabilityChanged as error:
                failed = bare_result(task["checked"], "failed", code=error.code, error=error.cause)
                return {"results": {failed.uid: await runner.settle(task, failed, invocation)}}
            inputs = await runner.outputs(results)
            last = refused_before(task["checked"], invocation)
            refused, approach = last.error if last else "", state.get("approach", "")
            opening = step_opening(task, route, inputs, missing, refused, approach)
            try:
                async with invocation.board.lanes.hold(task["checked"].uid):
                    work = subgraph.ainvoke(opening, limited(config, settings))
                    closed = await parked_if_drained(work)
            except GraphInterrupt:
                invocation.board.wait_on_gate(task["checked"].uid)
                raise
            envelope = await envelopes.of(opening["loop"], closed, invocation.run_id)
            goal, outcome = task["checked"].step.description, loop_outcome(closed)
            result = step_result(task["checked"], outcome, envelope, goal, len(inputs))
            result = await with_declared_output(result, task, route, models, invocation)
            result = result.model_copy(update={"missing": missing})
            return {"results": {result.uid: await runner.settle(task, result, invocation)}}

    return agentic_step
