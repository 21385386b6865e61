"""request_gate: write down that a person has to decide over one call, with its real arguments."""

from __future__ import annotations

import asyncio

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue, ValidationError

from planwright.capabilities.capability import check_arguments, explain
from planwright.graph.errors import CapabilityError, CapabilityRejected
from planwright.graph.invocation import invocation_of
from planwright.graph.lane_state import LaneState
from planwright.graph.state import StepTask
from planwright.nodes.call_gate import CallGates
from planwright.nodes.card import step_card
from planwright.nodes.node import Node, Update
from planwright.nodes.step_runner import StepRunner, ended


def request_gate(runner: StepRunner, gates: CallGates) -> Node[LaneState]:
    """Open the gate of a step once its arguments are known; bad arguments end the lane instead."""

    async def request_gate(state: LaneState, config: RunnableConfig) -> Update:
        invocation, task = invocation_of(config), state["step_task"]
        results = await invocation.board.inputs(task["awaits"], task["checked"].uid)
        try:
            args = await _arguments(runner, task, await runner.arguments(task, results, invocation))
        except CapabilityError as error:
            failed = ended(task["checked"], "failed", code=error.code, error=error.cause)
            return {"results": {failed.uid: await runner.settle(task, failed, invocation)}}
        shown = step_card(task, args)
        return {"gate_id": await gates.open(task["checked"], shown, invocation, task["plan_gate"])}

    return request_gate


async def _arguments(
    runner: StepRunner, task: StepTask, params: dict[str, JsonValue]
) -> dict[str, JsonValue]:
    found = runner.gateway.registry.get(task["checked"].step.capability or "")
    if found is None:
        raise CapabilityRejected(f"there is no capability {task['checked'].step.capability}")
    try:
        args = check_arguments(found, params)
    except ValidationError as error:
        raise CapabilityRejected(f"{found.name} was given bad arguments: {explain(error)}") from error
    if found.preflight:
        await asyncio.to_thread(found.check, args, runner.gateway.world)
    return args
