"""The life of a request, from top to bottom: each stage is one line, in the order in which they come.

Behind its name stands where a run goes from there: to another stage, or to what a function of `routes.py`
chooses. What a stage does, the file of its name in `nodes/` says; what it depends on, `stages.py`.
"""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from planwright.domain.run_context import RunContext
from planwright.graph import routes, stages
from planwright.graph.stages import Parts, build_stages
from planwright.graph.wiring import Outline
from planwright.models.conversation.shortening import Shortening
from planwright.nodes.steps.dispatch import sends
from planwright.state.agent_state import AgentState, InputState, OutputState, StepTask
from planwright.state.node import describe

Pipeline = StateGraph[AgentState, RunContext, InputState, OutputState]


def build_pipeline(parts: Parts) -> Pipeline:
    """Wire the stages of one run."""
    graph: Pipeline = StateGraph(
        AgentState, context_schema=RunContext, input_schema=InputState, output_schema=OutputState
    )
    shortening = Shortening(parts.models, parts.settings.context)
    run = Outline(graph, build_stages(parts, shortening))

    async def open_steps(state: AgentState) -> list[Send]:
        return sends(state, parts.settings.execution)

    # It arrives: who asks, what is left to spend, which model serves, which tools fit, and how it is done.
    graph.add_edge(START, "session_event")
    run.stage("session_event", "budget")
    run.at_once("budget", routes.after_budget)
    run.at_once("capability_routing", routes.after_routing(shortening))
    run.stage("context_window", "tool_filter")
    run.at_once("tool_filter", routes.after_filter)
    run.stage("prompt_tool_bridge", "planning")
    run.at_once("planning", routes.after_planning)

    # It is planned: as a graph of steps, which is verified, and which a person approves.
    run.at_once("task_extraction", routes.after_task)
    run.at_once("classification", routes.after_classification)
    run.stage("planner", routes.after_planner)
    run.at_once("verify", routes.after_verify)
    run.stage("plan_gate", "plan_approval")
    run.stage("plan_approval", routes.after_approval)

    # Or a model does it in a loop with tools, each call verified, asked about and recorded.
    run.subgraph("agentic_loop", routes.after_answer)

    # The steps of a plan are carried out: those that need no other at once, one by one or in a lane.
    run.at_once("dispatch", open_steps, ["direct_step", "lane"])
    run.stage("direct_step", "score", takes=StepTask)
    run.subgraph("lane", "score")

    # The critic judges, and may order another try, another plan, or a question to a person.
    run.stage("score", routes.after_score)
    run.stage("escalation_gate", "escalation")
    run.stage("escalation", routes.after_escalation)

    # It is answered, in the form that a program wants, what is worth it is remembered, and the run ends.
    run.stage("respond", routes.after_answer)
    run.stage("answer_value", "consolidate")
    run.stage("clarify", "consolidate")
    run.stage("consolidate", "session_close")
    run.stage("session_close", END)
    describe(graph.nodes, vars(stages))
    return graph
