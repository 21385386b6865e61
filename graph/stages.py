"""The stages of a run with all that they depend on. In which order they come, `pipeline.py` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from planwright.approvals.call_gate import CallGates
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.gateway.gateway import Gateway
from planwright.capabilities.registry import Registry
from planwright.critic.rubrics import Rubrics
from planwright.execution.alternative import Alternative
from planwright.execution.lane_envelope import Envelopes
from planwright.execution.memory_by_rule import Remembering
from planwright.execution.memory_proposals import Proposing
from planwright.execution.step_runner import StepRunner
from planwright.execution.surroundings import surroundings_reader
from planwright.graph.agentic_loop import build_loop
from planwright.graph.chain import chain_runner
from planwright.graph.lane import build_lane
from planwright.graph.wiring import Values
from planwright.models.calling import Models
from planwright.models.conversation.shortening import Shortening
from planwright.models.roles import role_route
from planwright.nodes.closing.answer_value import answer_value
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
from planwright.nodes.steps.dispatch import dispatch
from planwright.nodes.steps.lane import lane
from planwright.planning.no_other_plan import asks_where_acted
from planwright.planning.taint import Taint
from planwright.records.stores import Stores
from planwright.settings.settings import Settings
from planwright.state.node import Node, ends_run

Stage = Node[Values, Values]
Stages = Mapping[str, Stage]
"""Stages by their names."""


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


def build_stages(parts: Parts, shortening: Shortening) -> Stages:
    """Make the stages of one run."""
    gateway = Gateway(parts.registry, parts.stores, parts.settings, parts.call_context)
    surroundings = surroundings_reader(parts.registry, parts.call_context)
    return {
        **_intake(parts, shortening),
        **_planning(parts, shortening, gateway),
        **_carrying_out(parts, gateway),
        "consolidate": _consolidate(parts, gateway),
        "respond": ends_run(respond(parts.models, parts.stores, surroundings, parts.settings)),
        "answer_value": ends_run(answer_value(parts.models, parts.stores, parts.settings)),
        "clarify": ends_run(clarify(parts.stores)),
        "session_close": session_close(parts.stores, parts.settings),
    }


def _intake(parts: Parts, shortening: Shortening) -> Stages:
    stores, settings, router = parts.stores, parts.settings, parts.models.router
    return {
        "session_event": session_event(stores.forks, stores.ledger, parts.versions),
        "budget": ends_run(budget(stores.budgets, router)),
        "capability_routing": ends_run(capability_routing(router)),
        "context_window": context_window(shortening),
        "tool_filter": tool_filter(parts.registry, settings.tools),
        "prompt_tool_bridge": prompt_tool_bridge(),
        "planning": planning(settings.planning, parts.models),
    }


def _planning(parts: Parts, shortening: Shortening, gateway: Gateway) -> Stages:
    stores, settings, taint = parts.stores, parts.settings, Taint(gateway, parts.stores.ledger)
    surroundings = surroundings_reader(parts.registry, parts.call_context)
    extracts = task_extraction(parts.models, stores.memories, surroundings)
    asks = planner(parts.models, parts.registry, stores, settings, parts.call_context)
    verifying = verify(parts.registry, stores, settings, parts.call_context, taint, _rubrics(parts))
    records = (stores.gates, stores.tool_answers, stores.plans)
    pins, replans = (parts.registry, parts.call_context), settings.planning.replan_budget
    return {
        "task_extraction": ends_run(shortening.once(extracts)),
        "classification": classification(parts.registry, parts.models),
        "planner": asks_where_acted(ends_run(shortening.once(asks))),
        "verify": asks_where_acted(ends_run(verifying)),
        "plan_gate": plan_gate(stores.gates, stores.plans, settings),
        "plan_approval": plan_approval(*records, *pins, replans),
    }


def _carrying_out(parts: Parts, gateway: Gateway) -> Stages:
    stores, settings = parts.stores, parts.settings
    alternative = Alternative(parts.models, parts.registry, stores, settings, parts.call_context)
    runner, gates = StepRunner(gateway, stores, settings, alternative), CallGates(stores, settings, gateway)
    run_chain = chain_runner(runner, gates, stores)
    loop = build_loop(parts.models, runner, stores, settings, run_chain)
    envelopes = Envelopes(stores.work, parts.registry)
    by_agent = agentic_step(loop, runner, parts.models, envelopes, settings)
    approach = another_approach(parts.models, runner, settings)
    return {
        "agentic_loop": agentic_loop(loop, stores, settings),
        "dispatch": dispatch(gateway),
        "direct_step": direct_step(runner),
        "lane": lane(build_lane(runner, gates, by_agent, approach, run_chain)),
        "score": score(stores, settings, _rubrics(parts)),
        "escalation_gate": escalation_gate(stores, settings, parts.registry),
        "escalation": escalation(stores),
    }


def _consolidate(parts: Parts, gateway: Gateway) -> Stage:
    proposing = Proposing(parts.models, parts.stores.memories, parts.settings.memory)
    remembering = Remembering(gateway, parts.stores.plans, parts.settings)
    memory = (proposing, remembering, parts.registry, parts.settings.memory)
    return consolidate(parts.models, parts.stores, *memory)


def _rubrics(parts: Parts) -> Rubrics:
    return Rubrics(parts.models, partial(role_route, parts.settings, "critic"))
