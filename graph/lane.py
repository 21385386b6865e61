"""The lane: a subgraph that takes one gated step past its own gate."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from planwright.checkpoints.gates import Gates
from planwright.graph import routes
from planwright.graph.lane_state import LaneInput, LaneOutput, LaneState
from planwright.graph.settings import Settings
from planwright.nodes.await_inputs import await_inputs
from planwright.nodes.gated_call import gated_call
from planwright.nodes.request_gate import request_gate
from planwright.nodes.step_runner import StepRunner
from planwright.nodes.wait_gate import wait_gate


def build_lane(
    runner: StepRunner, gates: Gates, settings: Settings
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Wire await_inputs → request_gate → wait_gate → gated_call."""
    lane = StateGraph(LaneState, input_schema=LaneInput, output_schema=LaneOutput)
    lane.add_node("await_inputs", await_inputs(runner))
    lane.add_node("request_gate", request_gate(runner, gates, settings))
    lane.add_node("wait_gate", wait_gate(gates))
    lane.add_node("gated_call", gated_call(runner, gates))
    lane.add_edge(START, "await_inputs")
    lane.add_conditional_edges("await_inputs", routes.after_inputs)
    lane.add_conditional_edges("request_gate", routes.after_request)
    lane.add_edge("wait_gate", "gated_call")
    lane.add_edge("gated_call", END)
    return lane.compile(name="lane")
