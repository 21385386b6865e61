"""The outer graph: nodes and edges, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from planwright.approvals.call_gate import CallGates
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.registry import Registry
from planwright.critic.rubrics import Rubrics
from planwright.domain.run_context import RunContext
from planwright.execution.alternative import Alternative
from planwright.execution.lane_envelope import Envelopes
from planwright.execution.memory_by_rule import Remembering
from planwright.execution.memory_proposals import Proposing
from planwright.execution.step_runner import StepRunner
from planwright.execution.surroundings import surroundings_reader
from planwright.graph import routes
from planwright.graph.agentic_loop import build_loop
from planwright.graph.chain import chain_runner
from planwright.graph.lane import build_lane
from planwright.graph.wiring import NodeSequence, add_branch, add_node
from planwright.models.calling import Models
from planwright.models.conversation.shortening import Shortening
from planwright.models.roles import role_route
from planwright.nodes.closing.clarify import clarify
from planwright.nodes.closing.consolidate import consolidate
from planwright.nodes.closing.escalation import escalation
from planwright.nodes.closing.escalation_gate import escalation_gate
from planwright.nodes.closing.respond import respond
from planwright.nodes.closing.score import score
from planwright.nodes.closing.session_close import session_close
from planwright.nodes.intake.budget import budget
from planwright.nodes.intake.capability_routing import capability_routing
from planwright.nodes.intake.context_window import context_window
from planwright.nodes.intake.planning import planning
from planwright.nodes.intake.prompt_tool_bridge import prompt_tool_bridge
from planwright.nodes.intake.session_event import session_event
from planwright.nodes.intake.tool_filter import tool_filter
from planwright.nodes.loop.agentic_loop import agentic_loop
from planwright.nodes.plan.classification import classification
from planwright.nodes.plan.plan_approval import plan_approval
from planwright.nodes.plan.plan_gate import plan_gate
from planwright.nodes.plan.planner import planner
from planwright.nodes.plan.task_extraction import task_extraction
from planwright.nodes.plan.verify import verify
from planwright.nodes.steps.agentic_step import agentic_step
from planwright.nodes.steps.another_approach import another_approach
from planwright.nodes.steps.direct_step import direct_step
from planwright.nodes.steps.dispatch import dispatch, sends
from planwright.nodes.steps.lane import lane
from planwright.planning.no_other_plan import asks_where_acted
from planwright.planning.taint import Taint
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, InputState, OutputState, StepTask
from planwright.state.compaction import visible_messages
from planwright.state.node import describe, ends_run

Pipeline = StateGraph[AgentState, RunContext, InputState, OutputState]


@dataclass(frozen=True)
class Parts:
    """What the nodes depend on."""

    settings: Settings
    """Settings of the workspace."""
    stores: Stores
    """Tables and files in which runs are recorded."""
    registry: Registry
    """All capabilities of the workspace."""
    models: Models
    """Calls models, within the budgets of a run."""
    call_context: CallContext
    """What a call may see, still without a run."""
    versions: Mapping[str, str]
    """Hashes of all that decides how a run goes, by the name of the part."""


def build_pipeline(parts: Parts) -> Pipeline:
    """Wire the nodes of one run."""
    graph: Pipeline = StateGraph(
        AgentState, context_schema=RunContext, input_schema=InputState, output_schema=OutputState
    )
    shortening = Shortening(parts.models, parts.settings.context)
    gateway = Gateway(parts.registry, parts.stores, parts.settings, parts.call_context)
    sequence, surroundings = NodeSequence(graph), surroundings_reader(parts.registry, parts.call_context)
    _add_outer_zone(graph, parts, shortening, sequence)
    _add_plan_zone(graph, parts, shortening, gateway, sequence)
    _add_execution(graph, parts, gateway, sequence)
    add_node(graph, "respond", ends_run(respond(parts.models, parts.stores, surroundings)))
    add_node(graph, "clarify", ends_run(clarify(parts.stores)))
    add_node(graph, "session_close", session_close(parts.stores))
    graph.add_edge("respond", "consolidate")
    graph.add_edge("clarify", "consolidate")
    graph.add_edge("consolidate", "session_close")
    graph.add_edge("session_close", END)
    describe(graph.nodes, globals())
    return graph


def _add_outer_zone(graph: Pipeline, parts: Parts, shortening: Shortening, sequence: NodeSequence) -> None:
    settings = parts.settings

    async def after_routing(state: AgentState) -> Literal["context_window", "tool_filter", "consolidate"]:
        if routes.has_answer(state):
            return "consolidate"
        seen = visible_messages(state["messages"], state.get("compacted"))
        return "context_window" if shortening.needed(seen, state["route"]) else "tool_filter"

    add_node(graph, "session_event", session_event(parts.stores.forks, parts.stores.ledger, parts.versions))
    router = parts.models.router
    sequence.add_node("budget", ends_run(budget(parts.stores.budgets, router)), routes.after_budget)
    sequence.add_node("capability_routing", ends_run(capability_routing(router)), after_routing)
    add_node(graph, "context_window", context_window(shortening))
    sequence.add_node("tool_filter", tool_filter(parts.registry, settings.tools), routes.after_filter)
    add_node(graph, "prompt_tool_bridge", prompt_tool_bridge())
    sequence.add_node("planning", planning(settings.planning, parts.models), routes.after_planning)
    graph.add_edge(START, "session_event")
    graph.add_edge("session_event", "budget")
    graph.add_edge("context_window", "tool_filter")
    graph.add_edge("prompt_tool_bridge", "planning")


def _add_plan_zone(
    graph: Pipeline, parts: Parts, shortening: Shortening, gateway: Gateway, sequence: NodeSequence
) -> None:
    stores, settings, taint = parts.stores, parts.settings, Taint(gateway, parts.stores.ledger)
    extracts = task_extraction(
        parts.models, stores.memories, surroundings_reader(parts.registry, parts.call_context)
    )
    sequence.add_node("task_extraction", ends_run(shortening.once(extracts)), routes.after_task)
    classifies = classification(parts.registry, parts.models)
    sequence.add_node("classification", classifies, routes.after_classification)
    asks = planner(parts.models, parts.registry, stores, settings, parts.call_context)
    add_node(graph, "planner", asks_where_acted(ends_run(shortening.once(asks))))
    rubrics = Rubrics(parts.models, partial(role_route, settings, "critic"))
    verifying = verify(parts.registry, stores, settings, parts.call_context, taint, rubrics)
    sequence.add_node("verify", asks_where_acted(ends_run(verifying)), routes.after_verify)
    add_node(graph, "plan_gate", plan_gate(stores.gates, stores.plans, settings))
    pins = (parts.registry, parts.call_context)
    replans = settings.planning.replan_budget
    records = (stores.gates, stores.tool_answers, stores.plans)
    add_node(graph, "plan_approval", plan_approval(*records, *pins, replans))
    add_branch(graph, "planner", routes.after_planner)
    graph.add_edge("plan_gate", "plan_approval")
    add_branch(graph, "plan_approval", routes.after_approval)


def _add_execution(graph: Pipeline, parts: Parts, gateway: Gateway, sequence: NodeSequence) -> None:
    stores, settings = parts.stores, parts.settings
    alternative = Alternative(parts.models, parts.registry, stores, settings, parts.call_context)
    runner = StepRunner(gateway, stores, settings, alternative)

    async def open_steps(state: AgentState) -> list[Send]:
        return sends(state, settings.execution)

    gates = CallGates(stores, settings)
    run_chain = chain_runner(runner, gates, stores)
    loop = build_loop(parts.models, runner, stores, settings, run_chain)
    graph.add_node("agentic_loop", agentic_loop(loop, stores, settings))
    graph.add_edge("agentic_loop", "consolidate")
    proposing = Proposing(parts.models, stores.memories, settings.memory)
    remembering = Remembering(gateway, stores.plans, settings)
    memory = (proposing, remembering, parts.registry, settings.memory)
    add_node(graph, "consolidate", consolidate(parts.models, stores, *memory))
    sequence.add_node("dispatch", dispatch(gateway), open_steps, ["direct_step", "lane"])
    add_node(graph, "direct_step", direct_step(runner), StepTask)
    envelopes = Envelopes(stores.work, parts.registry)
    by_agent = agentic_step(loop, runner, parts.models, envelopes, settings)
    approach = another_approach(parts.models, runner, settings)
    graph.add_node("lane", lane(build_lane(runner, gates, by_agent, approach, run_chain)))
    rubrics = Rubrics(parts.models, partial(role_route, settings, "critic"))
    add_node(graph, "score", score(stores, settings, rubrics))
    add_node(graph, "escalation_gate", escalation_gate(stores, settings, parts.registry))
    add_node(graph, "escalation", escalation(stores))
    graph.add_edge("escalation_gate", "escalation")
    add_branch(graph, "escalation", routes.after_escalation)
    graph.add_edge("direct_step", "score")
    graph.add_edge("lane", "score")
    add_branch(graph, "score", routes.after_score)
