"""The outer graph: nodes and edges, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.gateway import Gateway
from planwright.capabilities.registry import Registry
from planwright.checkpoints.stores import Stores
from planwright.graph import routes
from planwright.graph.chain_run import chain_runner
from planwright.graph.compaction import within
from planwright.graph.lane import lane
from planwright.graph.loop import agentic_loop, agentic_step, build_loop
from planwright.graph.run_context import RunContext
from planwright.graph.settings import Settings
from planwright.graph.state import AgentState, InputState, OutputState
from planwright.models.calling import Models
from planwright.nodes.alternative import Alternative
from planwright.nodes.budget import budget
from planwright.nodes.call_gate import CallGates
from planwright.nodes.capability_routing import capability_routing
from planwright.nodes.clarify import clarify
from planwright.nodes.classification import classification
from planwright.nodes.consolidate import consolidate
from planwright.nodes.context_window import context_window
from planwright.nodes.direct_step import direct_step
from planwright.nodes.dispatch import dispatch, sends
from planwright.nodes.escalation import escalation
from planwright.nodes.escalation_gate import escalation_gate
from planwright.nodes.lane_envelope import Envelopes
from planwright.nodes.node import describe, ends_run
from planwright.nodes.plan_approval import plan_approval
from planwright.nodes.plan_gate import plan_gate
from planwright.nodes.planner import planner
from planwright.nodes.planning import planning
from planwright.nodes.prompt_tool_bridge import prompt_tool_bridge
from planwright.nodes.proposing import Proposing
from planwright.nodes.remembering import Remembering
from planwright.nodes.respond import respond
from planwright.nodes.rubrics import CriticRoute, Rubrics, nobody
from planwright.nodes.score import score
from planwright.nodes.session_close import session_close
from planwright.nodes.session_event import session_event
from planwright.nodes.shortening import Shortening
from planwright.nodes.step_runner import StepRunner
from planwright.nodes.taint import Taint
from planwright.nodes.task_extraction import task_extraction
from planwright.nodes.tool_filter import tool_filter
from planwright.nodes.verify import verify

Pipeline = StateGraph[AgentState, RunContext, InputState, OutputState]


@dataclass(frozen=True)
class Parts:
    """What the nodes depend on."""

    settings: Settings
    stores: Stores
    registry: Registry
    models: Models
    world: CallContext
    critic: CriticRoute = nobody


def build_pipeline(parts: Parts) -> Pipeline:
    """Wire the nodes of one run."""
    graph: Pipeline = StateGraph(
        AgentState, context_schema=RunContext, input_schema=InputState, output_schema=OutputState
    )
    shortening = Shortening(parts.models, parts.settings.context)
    gateway = Gateway(parts.registry, parts.stores, parts.settings, parts.world)
    _add_outer_zone(graph, parts, shortening)
    _add_plan_zone(graph, parts, shortening, gateway)
    _add_execution(graph, parts, gateway)
    graph.add_node("respond", ends_run(respond(parts.models, parts.stores)))
    graph.add_node("clarify", ends_run(clarify(parts.stores)))
    graph.add_node("session_close", session_close(parts.stores))
    graph.add_edge("respond", "consolidate")
    graph.add_edge("clarify", "consolidate")
    graph.add_edge("consolidate", "session_close")
    graph.add_edge("session_close", END)
    describe(graph.nodes, globals())
    return graph


def _add_outer_zone(graph: Pipeline, parts: Parts, shortening: Shortening) -> None:
    settings = parts.settings

    async def after_routing(state: AgentState) -> Literal["context_window", "tool_filter", "consolidate"]:
        if routes.ended(state):
            return "consolidate"
        seen = within(state["messages"], state.get("compacted"))
        return "context_window" if shortening.needed(seen, state["route"]) else "tool_filter"

    graph.add_node("session_event", session_event(parts.stores.forks, parts.stores.ledger))
    graph.add_node("budget", ends_run(budget(parts.stores.budgets, parts.models.router)))
    graph.add_node("capability_routing", ends_run(capability_routing(parts.models.router)))
    graph.add_node("context_window", context_window(shortening))
    graph.add_node("tool_filter", tool_filter(parts.registry, settings.tools.top_k))
    graph.add_node("prompt_tool_bridge", prompt_tool_bridge())
    graph.add_node("planning", planning(settings.planning, parts.models))
    graph.add_edge(START, "session_event")
    graph.add_edge("session_event", "budget")
    graph.add_conditional_edges("budget", routes.after_budget)
    graph.add_conditional_edges("capability_routing", after_routing)
    graph.add_edge("context_window", "tool_filter")
    graph.add_conditional_edges("tool_filter", routes.after_filter)
    graph.add_edge("prompt_tool_bridge", "planning")
    graph.add_conditional_edges("planning", routes.after_planning)


def _add_plan_zone(graph: Pipeline, parts: Parts, shortening: Shortening, gateway: Gateway) -> None:
    stores, settings, taint = parts.stores, parts.settings, Taint(gateway, parts.stores.ledger)
    extracts = task_extraction(parts.models, stores.memories)
    graph.add_node("task_extraction", ends_run(shortening.once(extracts)))
    graph.add_node("classification", classification(parts.registry))
    asks = planner(parts.models, parts.registry, stores.blobs, settings, parts.world)
    graph.add_node("planner", ends_run(shortening.once(asks)))
    rubrics = Rubrics(parts.models, parts.critic)
    verifying = verify(parts.registry, stores, settings, parts.world, taint, rubrics)
    graph.add_node("verify", ends_run(verifying))
    graph.add_node("plan_gate", plan_gate(stores.gates, stores.plans, settings))
    pins = (parts.registry, parts.world.policy.hash)
    replans = settings.planning.replan_budget
    graph.add_node("plan_approval", plan_approval(stores.gates, stores.plans, *pins, replans))
    graph.add_conditional_edges("task_extraction", routes.after_task)
    graph.add_conditional_edges("classification", routes.after_classification)
    graph.add_conditional_edges("planner", routes.after_planner)
    graph.add_conditional_edges("verify", routes.after_verify)
    graph.add_edge("plan_gate", "plan_approval")
    graph.add_conditional_edges("plan_approval", routes.after_approval)


def _add_execution(graph: Pipeline, parts: Parts, gateway: Gateway) -> None:
    stores, settings = parts.stores, parts.settings
    alternative = Alternative(parts.models, parts.registry, stores, settings, parts.world)
    runner = StepRunner(gateway, stores, settings, alternative)

    async def open_steps(state: AgentState) -> list[Send]:
        return sends(state, settings.execution)

    gates, router = CallGates(stores.gates, stores.allow_rules, settings), parts.models.router
    run_chain = chain_runner(runner, gates, stores)
    loop = build_loop(parts.models, runner, stores, settings, run_chain)
    graph.add_node("agentic_loop", agentic_loop(loop, stores, settings))
    graph.add_edge("agentic_loop", "consolidate")
    proposing = Proposing(parts.models, stores.memories, settings.memory)
    remembering = Remembering(gateway, stores.plans, settings)
    memory = (proposing, remembering, parts.registry, settings.memory)
    graph.add_node("consolidate", consolidate(stores.runs, stores.proposals, *memory))
    graph.add_node("dispatch", dispatch(gateway))
    graph.add_node("direct_step", direct_step(runner), input_schema=None)
    envelopes = Envelopes(stores.work, parts.registry)
    by_agent = agentic_step(loop, runner, router, envelopes, settings)
    graph.add_node("lane", lane(runner, gates, by_agent, run_chain))
    rubrics = Rubrics(parts.models, parts.critic)
    graph.add_node("score", score(stores, settings, rubrics))
    graph.add_node("escalation_gate", escalation_gate(stores, settings, parts.registry))
    graph.add_node("escalation", escalation(stores))
    graph.add_edge("escalation_gate", "escalation")
    graph.add_conditional_edges("escalation", routes.after_escalation)
    graph.add_conditional_edges("dispatch", open_steps, ["direct_step", "lane"])
    graph.add_edge("direct_step", "score")
    graph.add_edge("lane", "score")
    graph.add_conditional_edges("score", routes.after_score)
