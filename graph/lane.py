"""The lane: a subgraph that takes one gated step past its own gate, or gives one to an agent."""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph

from planwright.approvals.call_gate import CallGates
from planwright.execution.step_runner import StepRunner
from planwright.graph import routes
from planwright.graph.wiring import Compiled, add_branch, add_node
from planwright.nodes.steps.agentic_step import agentic_step  # noqa: F401 - described by its docstring
from planwright.nodes.steps.another_approach import another_approach  # noqa: F401 - described by its docstring
from planwright.nodes.steps.await_inputs import await_inputs
from planwright.nodes.steps.chain_step import RunChain, chain_step
from planwright.nodes.steps.gated_call import gated_call
from planwright.nodes.steps.named_gate import named_gate
from planwright.nodes.steps.request_gate import request_gate
from planwright.nodes.steps.wait_gate import wait_gate
from planwright.state.lane_state import LaneInput, LaneOutput, LaneState, LaneUpdate
from planwright.state.node import Node, describe


def build_lane(
    runner: StepRunner,
    gates: CallGates,
    by_agent: Node[LaneState, LaneUpdate],
    approach: Node[LaneState, LaneUpdate],
    run_chain: RunChain,
) -> Compiled:
    """Wire await_inputs → request_gate → wait_gate → gated_call, or await_inputs → agentic_step.

    A chain_step comes in the place of a gated_call, or right behind its inputs; a named_gate, and a wait_gate
    for each gate that it opens, right behind the inputs of a step that has to pass some; another_approach
    before an agentic_step that is run again.
    """
    graph = StateGraph(LaneState, input_schema=LaneInput, output_schema=LaneOutput)
    add_node(graph, "await_inputs", await_inputs(runner))
    add_node(graph, "named_gate", named_gate(runner, gates))
    add_node(graph, "request_gate", request_gate(runner, gates))
    add_node(graph, "wait_gate", wait_gate(gates))
    add_node(graph, "gated_call", gated_call(runner, gates))
    graph.add_edge(START, "await_inputs")
    add_branch(graph, "await_inputs", routes.after_inputs)
    add_branch(graph, "named_gate", routes.after_named_gate)
    add_branch(graph, "request_gate", routes.after_request)
    add_branch(graph, "wait_gate", routes.after_gate)
    add_node(graph, "another_approach", approach)
    add_branch(graph, "another_approach", routes.after_approach)
    graph.add_node("agentic_step", by_agent)
    add_node(graph, "chain_step", chain_step(run_chain, runner, gates))
    graph.add_edge("gated_call", END)
    graph.add_edge("agentic_step", END)
    graph.add_edge("chain_step", END)
    describe(graph.nodes, globals())
    return graph.compile(name="lane")
