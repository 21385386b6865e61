"""The subgraph that calls a chain: its parts in a row, and a gate wherever one of them asks."""

from __future__ import annotations

from typing import Literal

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph

from planwright.approvals.call_gate import CallGates
from planwright.domain.chain import MOST_CALLS
from planwright.domain.results import StepResult
from planwright.execution.step_runner import StepRunner
from planwright.graph.wiring import Compiled, add_branch, add_node
from planwright.nodes.steps.chain_parts import chain_parts
from planwright.nodes.steps.chain_step import RunChain
from planwright.nodes.steps.part_gate import part_gate
from planwright.records.stores import Stores
from planwright.state.chain_state import ChainGraphInput, ChainOutput, ChainState, ChainTask
from planwright.state.node import describe
from planwright.state.step_board import parked_if_drained

SUPERSTEPS = 2 * MOST_CALLS + 10


def build_chain(runner: StepRunner, gates: CallGates, stores: Stores) -> Compiled:
    """Wire chain_parts ⇄ part_gate: a gate is a node of its own, and effects come in another."""
    graph = StateGraph(ChainState, input_schema=ChainGraphInput, output_schema=ChainOutput)
    add_node(graph, "chain_parts", chain_parts(runner, gates, stores))
    add_node(graph, "part_gate", part_gate(gates))

    async def after_parts(state: ChainState) -> Literal["part_gate", "__end__"]:
        return "__end__" if state.get("result") else "part_gate"

    graph.add_edge(START, "chain_parts")
    add_branch(graph, "chain_parts", after_parts)
    graph.add_edge("part_gate", "chain_parts")
    describe(graph.nodes, globals())
    return graph.compile(name="chain")


def chain_runner(runner: StepRunner, gates: CallGates, stores: Stores) -> RunChain:
    """Make what runs a chain inside the node of a step or of a call."""
    subgraph = build_chain(runner, gates, stores)

    async def run_chain(task: ChainTask, config: RunnableConfig) -> StepResult:
        work = subgraph.ainvoke(ChainGraphInput(task=task), {**config, "recursion_limit": SUPERSTEPS})
        ended = await parked_if_drained(work)
        result: StepResult = ended["result"]
        return result

    return run_chain
