"""sub_agent: a part of a task, done by an agent of its own in a child lane."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from planwright.domain.doubt import UNDECIDED
from planwright.domain.envelope import LaneEnvelope
from planwright.domain.plan import DELEGATE
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.call_events import call_fields, emit_end, emit_start
from planwright.execution.loop_ends import step_result
from planwright.execution.step_runner import StepRunner
from planwright.nodes.loop.tool_execution import call_answer
from planwright.prompts import render, section
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.loop_budget import LoopBudget
from planwright.state.loop_state import CallDoubt, CallTask, LoopInput, LoopOutcome, LoopTask, LoopUpdate
from planwright.state.node import Node

OpenLane = Callable[[LoopInput, RunnableConfig], Awaitable[tuple[LoopOutcome, LaneEnvelope]]]


def sub_agent(
    open_lane: OpenLane, runner: StepRunner, stores: Stores, settings: Settings
) -> Node[CallTask, LoopUpdate]:
    """Open a lane with fewer tools, a budget carved from its parent's, and one level less to go.

    What it hands over is judged by its record: what that does not bear out reaches the model as an error.
    """

    async def sub_agent(state: CallTask, config: RunnableConfig) -> LoopUpdate:
        invocation, call = invocation_of(config), state["call"]
        checked, parent = call.step, state["loop"]
        fields = call_fields(checked, parent.lane, call.call_id)
        emit_start(invocation, fields, checked.step.params, checked.uid)
        result, began = invocation.board.settled(checked.uid), invocation.seconds()
        if result is None:
            async with invocation.board.lanes.hold(checked.uid, parent.lane):
                budget = await _carved(parent, checked, stores, settings, invocation)
                opening = lane_opening(parent, state["batch"], checked, budget, settings.planning.max_depth)
                with invocation.spans.lane(checked):
                    outcome, envelope = await open_lane(opening, config)
            result = step_result(checked, outcome, envelope, opening["loop"].goal, 0)
            seconds = round(invocation.seconds() - began, 3)
            result = result.model_copy(update={"seconds": seconds})
            runner.record(result, invocation)
        emit_end(invocation, fields, result, checked.uid)
        message = await call_answer(call, result, runner, settings.tools.result_limit)
        left = CallDoubt(call_id=call.call_id, uid=checked.uid, status="left")
        doubts = {call.call_id: left} if result.code == UNDECIDED else {}
        return {"conversation": [message], "doubts": doubts}

    return sub_agent


def lane_opening(
    parent: LoopTask, batch: str, checked: VerifiedStep, budget: LoopBudget, max_depth: int
) -> LoopInput:
    """Open the child's loop: its task alone, its tools, and `agent.delegate` only above the deepest level."""
    args, depth = checked.step.params, parent.depth + 1
    names = args["tools"] if isinstance(args["tools"], list) else []
    tools = (*(str(name) for name in names if name != DELEGATE or depth < max_depth), "clarify")
    turns = args["max_turns"]
    task = LoopTask(
        lane=checked.uid,
        plan_hash=batch,
        goal=str(args["task"]),
        route=parent.route,
        tools=tools,
        depth=depth,
        max_turns=turns if isinstance(turns, int) else None,
        budgets=(*parent.budgets, budget),
    )
    sections = section("task", task.goal) + section("expected", str(args["expected"] or ""))
    text = render("sub_agent", sections=sections)
    return LoopInput(loop=task, conversation=[HumanMessage(text, id=f"{checked.uid}_task")])


async def _carved(
    parent: LoopTask, checked: VerifiedStep, stores: Stores, settings: Settings, invocation: Invocation
) -> LoopBudget:
    above, args = parent.budgets, checked.step.params
    path = f"{above[-1].lane if above else parent.lane}/{checked.uid}"
    wanted = LoopBudget.model_validate(
        {"lane": path, "tokens": args["tokens"], "tool_calls": args["tool_calls"]}
    )
    return await stores.budgets.carve(invocation.lease, wanted, above, invocation.clock())
