"""The agentic loop: a subgraph in which a model calls tools until it is done, refused or stopped."""

from __future__ import annotations

from collections import defaultdict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from planwright.approvals.call_gate import CallGates
from planwright.domain.envelope import LaneEnvelope
from planwright.execution.grants import Grants, LoopTools
from planwright.execution.lane_envelope import Envelopes
from planwright.execution.loop_ends import Loop, limited, loop_outcome
from planwright.execution.step_runner import StepRunner
from planwright.execution.tool_calls import CallReader
from planwright.graph.wiring import Graph, add_branch, add_node
from planwright.models.calling import Models
from planwright.models.conversation.shortening import Shortening
from planwright.nodes.loop.chain_call import chain_call
from planwright.nodes.loop.compaction import compaction
from planwright.nodes.loop.doubt_gate import after_doubts, doubt_gate
from planwright.nodes.loop.llm_invoker import llm_invoker
from planwright.nodes.loop.loop_guard import loop_guard, trips_now
from planwright.nodes.loop.parallel_execution import after_calls, parallel_execution, runnable
from planwright.nodes.loop.sub_agent import sub_agent
from planwright.nodes.loop.tool_approval import tool_approval
from planwright.nodes.loop.tool_execution import tool_execution
from planwright.nodes.steps.chain_step import RunChain
from planwright.planning.taint import Taint
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.invocation import invocation_of
from planwright.state.loop_state import (
    ApprovalTask,
    CallTask,
    LoopInput,
    LoopOutcome,
    LoopOutput,
    LoopState,
    ToolCall,
    calls_in_doubt,
)
from planwright.state.node import describe
from planwright.state.step_board import parked_if_drained


def build_loop(
    models: Models, runner: StepRunner, stores: Stores, settings: Settings, run_chain: RunChain
) -> Loop:
    """Wire llm_invoker → loop_guard → tool_approval → parallel_execution → tool_execution → back.

    Between the stages of a reply comes parallel_execution. Nodes with nothing to do are skipped: a superstep
    costs a checkpoint. A sub_agent runs the same loop.
    """
    gates = CallGates(stores, settings, runner.gateway)
    reader = CallReader(runner.gateway.registry, runner.gateway.call_context, settings.approval.of_tool)
    grants = Grants(runner.gateway, stores.plans, stores.gates)
    own = LoopTools(reader, grants, Taint(runner.gateway, stores.ledger), stores)
    graph = StateGraph(LoopState, input_schema=LoopInput, output_schema=LoopOutput)
    shortening = Shortening(models, settings.context)
    add_node(graph, "llm_invoker", llm_invoker(models, own, shortening))
    add_node(graph, "compaction", compaction(shortening))
    add_node(graph, "loop_guard", loop_guard(settings.loop_guard))
    add_node(graph, "tool_approval", tool_approval(gates, runner.gateway), input_schema=ApprovalTask)
    add_node(graph, "parallel_execution", parallel_execution(gates, runner.gateway, own))
    calling = tool_execution(runner, settings.tools.result_limit)
    add_node(graph, "tool_execution", calling, input_schema=CallTask)
    add_node(graph, "chain_call", chain_call(run_chain, runner, settings), input_schema=CallTask)

    envelopes = Envelopes(stores.work, runner.gateway.registry)

    async def open_lane(opening: LoopInput, config: RunnableConfig) -> tuple[LoopOutcome, LaneEnvelope]:
        work = compiled.ainvoke(opening, limited(config, settings))
        ended = await parked_if_drained(work)
        run_id = invocation_of(config).run_id
        return loop_outcome(ended), await envelopes.of(opening["loop"], ended, run_id)

    add_node(graph, "doubt_gate", doubt_gate(stores, runner, settings))
    add_node(graph, "sub_agent", sub_agent(open_lane, runner, stores, settings), input_schema=CallTask)
    _connect(graph, settings)
    describe(graph.nodes, globals())
    compiled = graph.compile(name="loop")
    return compiled


def _connect(graph: Graph, settings: Settings) -> None:
    """Draw the edges: after a reply its calls, stage by stage, after the calls the next reply."""
    makers = ["tool_execution", "chain_call", "sub_agent"]
    guarded = ["tool_approval", "parallel_execution", *makers, END]

    async def after_reply(state: LoopState) -> list[Send] | str:
        if state.get("outcome"):
            return END
        if calls_in_doubt(state):
            return "doubt_gate"
        if state.get("crowded"):
            return "compaction"
        return "loop_guard" if trips_now(state, settings.loop_guard) else after_guard(state)

    async def after_guarded(state: LoopState) -> list[Send] | str:
        return END if state.get("outcome") else after_guard(state)

    async def after_sorting(state: LoopState) -> list[Send] | str:
        if calls_in_doubt(state):
            return "doubt_gate"
        if anew := [call for call in state["calls"] if call.call_id in state.get("asked_anew", ())]:
            return [Send("tool_approval", task) for task in approval_tasks(state, anew)]
        return runnable(state) or "llm_invoker"

    async def after_call(state: CallTask) -> str:
        return after_calls(state)

    async def after_decisions(state: LoopState) -> list[Send] | str:
        return after_doubts(state)

    graph.add_edge(START, "llm_invoker")
    add_branch(graph, "llm_invoker", after_reply, ["doubt_gate", "compaction", "loop_guard", *guarded])
    add_branch(graph, "loop_guard", after_guarded, guarded)
    graph.add_edge("tool_approval", "parallel_execution")
    add_branch(
        graph, "parallel_execution", after_sorting, ["doubt_gate", "tool_approval", *makers, "llm_invoker"]
    )
    add_branch(graph, "doubt_gate", after_decisions, ["chain_call", "parallel_execution", "llm_invoker"])
    for maker in makers:
        add_branch(graph, maker, after_call, ["parallel_execution", "llm_invoker"])
    graph.add_edge("compaction", "llm_invoker")


def after_guard(state: LoopState) -> list[Send] | str:
    """Ask for every call that needs a person, before any runs; else run them all."""
    if asking := [call for call in state["calls"] if call.waits]:
        return [Send("tool_approval", task) for task in approval_tasks(state, asking)]
    if any(call.error or call.proposed or call.answer or call.late for call in state["calls"]):
        return "parallel_execution"
    return runnable(state)


def approval_tasks(state: LoopState, asking: list[ToolCall]) -> list[ApprovalTask]:
    """Group the calls that ask by their gate; each gate shows the other calls of the reply beside its own."""
    groups: dict[str, list[ToolCall]] = defaultdict(list)
    for call in asking:
        groups[call.checked.gate_subject if call.checked else call.call_id].append(call)
    tasks = []
    for calls in groups.values():
        own = set(map(id, calls))
        others = [call.signature for call in state["calls"] if id(call) not in own]
        tasks.append(ApprovalTask(loop=state["loop"], batch=state["batch"], calls=calls, others=others))
    return tasks
