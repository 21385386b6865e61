"""Where to go next: pure functions from the state to the name of a node.

LangGraph draws the edges from the `Literal` each one returns; a union of two is not drawn.
"""

from __future__ import annotations

from typing import Literal

from planwright.domain.results import TERMINAL
from planwright.execution.run_account import DONE
from planwright.graph.wiring import Route
from planwright.models.conversation.shortening import Shortening
from planwright.planning.step_identity import earlier_uids
from planwright.state.agent_state import AgentState
from planwright.state.compaction import visible_messages
from planwright.state.lane_state import LaneState


def has_answer(state: AgentState) -> bool:
    """Say whether the run has its answer already."""
    return state.get("status") in TERMINAL


async def after_budget(state: AgentState) -> Literal["capability_routing", "consolidate"]:
    """Go on while there is something to spend."""
    return "consolidate" if has_answer(state) else "capability_routing"


def after_routing(shortening: Shortening) -> Route[AgentState]:
    """Make the route to a shorter conversation, where the model that serves needs one."""

    async def after_routing(state: AgentState) -> Literal["context_window", "tool_filter", "consolidate"]:
        if has_answer(state):
            return "consolidate"
        seen = visible_messages(state["messages"], state.get("compacted"))
        return "context_window" if shortening.needed(seen, state["route"]) else "tool_filter"

    return after_routing


async def after_filter(state: AgentState) -> Literal["prompt_tool_bridge", "planning"]:
    """Bridge what a model lacks; the embedded planner calls nothing."""
    route = state["route"]
    return "planning" if route.can_call or route.embedded else "prompt_tool_bridge"


async def after_planning(
    state: AgentState,
) -> Literal["task_extraction", "classification", "agentic_loop", "respond"]:
    """Plan at length, briefly, or not at all; a conversation always needs its task extracted."""
    decision = state["decision"]
    if state.get("plan") is not None:
        return "classification"  # a fork has its plan; should that not hold, there has to be another
    if decision.agentic:
        return "agentic_loop"
    if not decision.planned:
        return "respond"
    conversation = sum(message.type != "system" for message in state["messages"]) > 1
    return "task_extraction" if decision.complex or conversation else "classification"


async def after_task(state: AgentState) -> Literal["classification", "consolidate"]:
    """Classify the task."""
    return "consolidate" if has_answer(state) else "classification"


async def after_classification(state: AgentState) -> Literal["planner", "verify"]:
    """Ask for a plan, unless a fork brings one."""
    return "planner" if state.get("plan") is None else "verify"


async def after_planner(state: AgentState) -> Literal["verify", "escalation_gate", "consolidate"]:
    """Verify what the planner proposed; ask a person where there is nothing, and something has been done."""
    if state.get("escalates"):
        return "escalation_gate"
    return "consolidate" if has_answer(state) or state.get("plan") is None else "verify"


async def after_verify(
    state: AgentState,
) -> Literal[
    "planner",
    "classification",
    "plan_gate",
    "dispatch",
    "escalation_gate",
    "respond",
    "clarify",
    "consolidate",
]:
    """Ask a person, run, answer, or plan again."""
    if has_answer(state):
        return "consolidate"
    if state.get("escalates"):
        return "escalation_gate"
    plan = state.get("plan")
    if plan is None:
        unknown = any(finding.code == "unknown_capability" for finding in state["findings"])
        return "classification" if unknown else "planner"
    if not plan.work:
        return "clarify" if plan.steps[-1].capability == "clarify" else "respond"
    return "plan_gate" if state["gate_id"] and not state.get("reading") else "dispatch"


async def after_approval(state: AgentState) -> Literal["dispatch", "verify", "planner", "consolidate"]:
    """Only an approval leads to execution; an edited plan is verified, and asked for, again."""
    if has_answer(state):
        return "consolidate"
    if state.get("approved"):
        return "dispatch"
    edited = state.get("plan") is not None and state.get("changes")
    return "verify" if edited else "planner"


async def after_score(
    state: AgentState,
) -> Literal["verify", "planner", "escalation_gate", "respond", "clarify", "consolidate"]:
    """Run steps again, plan again with what went wrong, ask a person about it, or tell how it went.

    There is no verdict where what the steps call has changed, or reads were made first: the steps are
    verified again, and asked for.
    """
    if has_answer(state):
        return "consolidate"
    verdict, plan = state.get("verdict"), state.get("plan")
    if verdict is None and plan is not None and (state.get("reading") or not state.get("checked")):
        return "verify"
    if verdict is not None and verdict.verdict == "retry":
        return "verify"
    if verdict is not None and verdict.verdict == "replan":
        return "planner"
    if state.get("escalates"):
        return "escalation_gate"
    return _closing(state)


async def after_answer(state: AgentState) -> Literal["answer_value", "consolidate"]:
    """Put an answer into the form that is wanted, where there is one and the run has come to its end."""
    wanted = state.get("answer_schema") is not None and state.get("status") in DONE
    return "answer_value" if wanted else "consolidate"


async def after_escalation(state: AgentState) -> Literal["verify", "planner", "respond", "clarify"]:
    """Run again what failed, plan anew, or tell how it went; the plan is verified again either way."""
    if state.get("verdict") is not None:
        return _closing(state)
    return "planner" if state.get("plan") is None else "verify"


def _closing(state: AgentState) -> Literal["respond", "clarify"]:
    """Answer, or ask what the plan ends with asking."""
    plan = state.get("plan")
    last = plan.steps[-1:] if plan is not None else ()
    return "clarify" if any(step.capability == "clarify" for step in last) else "respond"


async def after_inputs(
    state: LaneState,
) -> Literal["named_gate", "request_gate", "another_approach", "agentic_step", "chain_step", "__end__"]:
    """A step that was skipped, or had ended, needs no gate; the calls of an agentic one have their own."""
    if _has_result(state):
        return "__end__"
    checked = state["step_task"]["checked"]
    if checked.gates:
        return "named_gate"
    if checked.step.agentic:
        return _by_agent(state)
    return "chain_step" if checked.chain and not checked.gated else "request_gate"


async def after_named_gate(
    state: LaneState,
) -> Literal[
    "wait_gate", "request_gate", "another_approach", "agentic_step", "chain_step", "gated_call", "__end__"
]:
    """Wait at each gate that the step has to pass, then go on to its own gate, or begin."""
    if _has_result(state):
        return "__end__"
    checked = state["step_task"]["checked"]
    if state["waits"]:
        return "wait_gate"
    if checked.step.agentic:
        return _by_agent(state)
    if checked.gated:
        return "request_gate"
    return "chain_step" if checked.chain else "gated_call"


async def after_request(state: object) -> Literal["wait_gate", "__end__"]:
    """A step whose arguments cannot be right is not put before a person."""
    return "__end__" if _has_result(state) else "wait_gate"


async def after_gate(state: LaneState) -> Literal["named_gate", "gated_call", "chain_step"]:
    """Make the call that was asked for; a chain is made of several, and there may be another gate."""
    if state.get("waits"):
        return "named_gate"
    return "chain_step" if state["step_task"]["checked"].chain else "gated_call"


async def after_approach(state: LaneState) -> Literal["agentic_step", "__end__"]:
    """A step that can be done in no other way has failed as it did before."""
    return "__end__" if _has_result(state) else "agentic_step"


def _by_agent(state: LaneState) -> Literal["another_approach", "agentic_step"]:
    """Ask for another approach first, where an earlier attempt at the step was not accepted."""
    task = state["step_task"]
    return "another_approach" if earlier_uids(task["run_id"], task["checked"]) else "agentic_step"


def _has_result(state: object) -> bool:
    return isinstance(state, dict) and bool(state.get("results"))
