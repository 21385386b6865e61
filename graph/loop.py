"""The agentic loop: a subgraph in which a model calls tools until it is done, refused or stopped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from planwright.checkpoints.refusals import ends_with
from planwright.checkpoints.stores import Stores
from planwright.graph.envelope import LaneEnvelope
from planwright.graph.errors import CapabilityChanged, SetupError
from planwright.graph.invocation import invocation_of
from planwright.graph.lane_state import LaneState
from planwright.graph.loop_state import (
    ApprovalTask,
    CallTask,
    LoopInput,
    LoopOutcome,
    LoopOutput,
    LoopState,
    LoopTask,
    ToolCall,
    in_doubt,
)
from planwright.graph.plan import CLOSING
from planwright.graph.settings import Settings
from planwright.graph.state import AgentState
from planwright.graph.wiring import add_branch, add_node
from planwright.models.calling import Models
from planwright.models.roles import serving
from planwright.models.router import Router
from planwright.nodes.agentic_step import step_opening, step_result
from planwright.nodes.another_approach import refused_before
from planwright.nodes.call_gate import CallGates
from planwright.nodes.chain_call import chain_call
from planwright.nodes.chain_step import RunChain
from planwright.nodes.closing_words import with_doubts
from planwright.nodes.compaction import compaction
from planwright.nodes.doubt_gate import after_doubts, doubt_gate
from planwright.nodes.grants import Grants
from planwright.nodes.lane_envelope import Envelopes
from planwright.nodes.llm_invoker import llm_invoker
from planwright.nodes.loop_guard import loop_guard, trips_now
from planwright.nodes.node import Node, Update, describe
from planwright.nodes.parallel_execution import parallel_execution, runnable
from planwright.nodes.shortening import Shortening
from planwright.nodes.step_ends import ended
from planwright.nodes.step_routing import routed, unmet
from planwright.nodes.step_runner import StepRunner
from planwright.nodes.sub_agent import sub_agent
from planwright.nodes.taint import Taint
from planwright.nodes.tool_approval import tool_approval
from planwright.nodes.tool_calls import CallReader
from planwright.nodes.tool_execution import tool_execution

Loop = CompiledStateGraph[Any, Any, Any, Any]


def build_loop(
    models: Models, runner: StepRunner, stores: Stores, settings: Settings, run_chain: RunChain
) -> Loop:
    """Wire llm_invoker → loop_guard → tool_approval → parallel_execution → tool_execution → back.

    Nodes with nothing to do are skipped: a superstep costs a checkpoint. A sub_agent runs the same loop.
    """
    gates = CallGates(stores.gates, stores.allow_rules, settings)
    reader = CallReader(runner.gateway.registry, runner.gateway.world, settings.approval.of_tool)
    grants = Grants(runner.gateway, stores.plans, stores.gates)
    taint = Taint(runner.gateway, stores.ledger)
    graph = StateGraph(LoopState, input_schema=LoopInput, output_schema=LoopOutput)
    shortening = Shortening(models, settings.context)
    add_node(graph, "llm_invoker", llm_invoker(models, reader, grants, taint, stores, shortening))
    add_node(graph, "compaction", compaction(shortening))
    add_node(graph, "loop_guard", loop_guard(settings.loop_guard))
    add_node(graph, "tool_approval", tool_approval(gates, runner.gateway), input_schema=ApprovalTask)
    add_node(graph, "parallel_execution", parallel_execution(gates, stores.proposals))
    calling = tool_execution(runner, settings.tools.result_limit)
    add_node(graph, "tool_execution", calling, input_schema=CallTask)
    add_node(graph, "chain_call", chain_call(run_chain, runner, settings), input_schema=CallTask)

    envelopes = Envelopes(stores.work, runner.gateway.registry)

    async def open_lane(opening: LoopInput, config: RunnableConfig) -> tuple[LoopOutcome, LaneEnvelope]:
        ended = await compiled.ainvoke(opening, {**config, "recursion_limit": supersteps(settings)})
        run_id = invocation_of(config).run_id
        return how_it_ended(ended), await envelopes.of(opening["loop"], ended, run_id)

    add_node(graph, "doubt_gate", doubt_gate(stores, runner, settings))
    add_node(graph, "sub_agent", sub_agent(open_lane, runner, stores, settings), input_schema=CallTask)
    _connect(graph, settings)
    describe(graph.nodes, globals())
    compiled = graph.compile(name="agentic_loop")
    return compiled


def _connect(graph: StateGraph[Any, Any, Any, Any], settings: Settings) -> None:
    """Draw the edges: after a reply its calls, after the calls the next reply."""
    makers = ["tool_execution", "chain_call", "sub_agent"]
    guarded = ["tool_approval", "parallel_execution", *makers, END]

    async def after_reply(state: LoopState) -> list[Send] | str:
        if state.get("outcome"):
            return END
        if in_doubt(state):
            return "doubt_gate"
        if state.get("crowded"):
            return "compaction"
        return "loop_guard" if trips_now(state, settings.loop_guard) else after_guard(state)

    async def after_guarded(state: LoopState) -> list[Send] | str:
        return END if state.get("outcome") else after_guard(state)

    async def after_sorting(state: LoopState) -> list[Send] | str:
        return runnable(state) or "llm_invoker"

    async def after_decisions(state: LoopState) -> list[Send] | str:
        return after_doubts(state)

    graph.add_edge(START, "llm_invoker")
    add_branch(graph, "llm_invoker", after_reply, ["doubt_gate", "compaction", "loop_guard", *guarded])
    add_branch(graph, "loop_guard", after_guarded, guarded)
    graph.add_edge("tool_approval", "parallel_execution")
    add_branch(graph, "parallel_execution", after_sorting, [*makers, "llm_invoker"])
    add_branch(graph, "doubt_gate", after_decisions, ["chain_call", "llm_invoker"])
    for before in ("compaction", *makers):
        graph.add_edge(before, "llm_invoker")


def after_guard(state: LoopState) -> list[Send] | str:
    """Ask for every call that needs a person, before any runs; else run them all."""
    if asking := [call for call in state["calls"] if call.waits]:
        return [Send("tool_approval", task) for task in approval_tasks(state, asking)]
    if any(call.error or call.proposed for call in state["calls"]):
        return "parallel_execution"
    return runnable(state)


def approval_tasks(state: LoopState, asking: list[ToolCall]) -> list[ApprovalTask]:
    """Group the calls that ask by their gate; each gate shows the other calls of the reply beside its own."""
    groups: dict[str, list[ToolCall]] = defaultdict(list)
    for call in asking:
        groups[call.checked.gate_subject if call.checked else call.call_id].append(call)
    return [
        ApprovalTask(
            loop=state["loop"],
            batch=state["batch"],
            calls=calls,
            others=[call.signature for call in state["calls"] if call not in calls],
        )
        for calls in groups.values()
    ]


def how_it_ended(ended: Mapping[str, Any]) -> LoopOutcome:
    """Read how a loop ended; nothing is complete while a person left open whether a call happened."""
    return with_doubts(ended["outcome"], ended.get("doubts", {}).values())


def supersteps(settings: Settings) -> int:
    """Count the supersteps a loop may take: at most six a turn."""
    return 6 * settings.execution.max_tool_iterations_hard_limit + 10


def agentic_loop(subgraph: Loop, stores: Stores, settings: Settings) -> Node[AgentState]:
    """Answer a simple request by a model with tools; its last words are the answer.

    A run whose every effect was refused ends so, whatever the model says of it.
    """
    limit = supersteps(settings)

    async def agentic_loop(state: AgentState, config: RunnableConfig) -> Update:
        invocation = invocation_of(config)
        invocation.speak_from_here()
        invocation.answer_from_here(config)
        tools = tuple(name for name in state["tools"] if name not in CLOSING)
        route = serving(settings, "agent", state["route"])
        loop = LoopTask(lane="main", goal=state["request"], route=route, tools=tools)
        opening = LoopInput(loop=loop, conversation=state["messages"], compacted=state.get("compacted"))
        ended = await subgraph.ainvoke(opening, {**config, "recursion_limit": limit})
        outcome = how_it_ended(ended)
        completed = outcome.status == "completed"
        if completed and await stores.doubts.of_run(invocation.run_id):
            return {"answer": outcome.text, "status": "escalated"}  # by the record, whatever the state says
        refused = await stores.refusals.of_all_effects(invocation.run_id) if completed else []
        return {"answer": outcome.text, "status": ends_with(refused) if refused else outcome.status}

    return agentic_loop


def agentic_step(
    subgraph: Loop, runner: StepRunner, router: Router, envelopes: Envelopes, settings: Settings
) -> Node[LaneState]:
    """Do a step of a plan that names tools instead of one call, by the model its hint asks for.

    The last words of the model are the output of the step, where its calls bear them out.
    """
    limit = supersteps(settings)

    async def agentic_step(state: LaneState, config: RunnableConfig) -> Update:
        invocation, task = invocation_of(config), state["step_task"]
        results = await invocation.board.inputs(task["awaits"], task["checked"].uid)
        if again := await runner.turn(task, invocation):
            return {"results": {again.uid: again}}
        missing = runner.begin(task, results, invocation)
        try:
            runner.gateway.check_pin(task["checked"])
            route = routed(router, task, invocation)
        except SetupError as error:
            failed = unmet(task["checked"], error)
            return {"results": {failed.uid: await runner.settle(task, failed, invocation)}}
        except CapabilityChanged as error:
            failed = ended(task["checked"], "failed", code=error.code, error=error.cause)
            return {"results": {failed.uid: await runner.settle(task, failed, invocation)}}
        inputs = await runner.outputs(results)
        last = refused_before(task["checked"], invocation)
        refused, approach = last.error if last else "", state.get("approach", "")
        opening = step_opening(task, route, inputs, missing, refused, approach)
        try:
            async with invocation.board.lanes.hold(task["checked"].uid):
                closed = await subgraph.ainvoke(opening, {**config, "recursion_limit": limit})
        except GraphInterrupt:
            invocation.board.wait_on_gate(task["checked"].uid)
            raise
        envelope = await envelopes.of(opening["loop"], closed, invocation.run_id)
        goal, outcome = task["checked"].step.description, how_it_ended(closed)
        result = step_result(task["checked"], outcome, envelope, goal, len(inputs))
        result = result.model_copy(update={"missing": missing})
        return {"results": {result.uid: await runner.settle(task, result, invocation)}}

    return agentic_step
