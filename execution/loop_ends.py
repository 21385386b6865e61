"""An agentic loop as a part of a run: what opens it, how far it may go, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from pydantic import JsonValue

from planwright.critic.lane_rules import judge_lane
from planwright.domain.envelope import LaneEnvelope
from planwright.domain.results import StepResult
from planwright.domain.step_ends import CANCELLED, bare_result
from planwright.domain.verified_step import VerifiedStep
from planwright.models.conversation.final_text import with_doubts
from planwright.prompts import render, section
from planwright.settings.settings import Settings
from planwright.state.agent_state import ModelRoute, StepTask
from planwright.state.loop_state import LoopInput, LoopOutcome, LoopTask

STAGES = 1000  # of the calls of a reply, one after another
Loop = CompiledStateGraph[Any, Any, Any, Any]


def limited(config: RunnableConfig, settings: Settings) -> RunnableConfig:
    """Bound the supersteps of a loop: six a turn, and six more for each stage of its calls.

    A caller's lower `recursion_limit` bounds it as well, as LangGraph bounds each subgraph.
    """
    most = 6 * STAGES * settings.execution.max_tool_iterations_hard_limit + 10
    return {**config, "recursion_limit": min(most, config.get("recursion_limit", most))}


def loop_outcome(final_state: Mapping[str, Any]) -> LoopOutcome:
    """Read how a loop ended; nothing is complete while a person left open whether a call happened."""
    return with_doubts(final_state["outcome"], final_state.get("doubts", {}).values())


def step_opening(
    task: StepTask,
    route: ModelRoute,
    outputs: dict[str, JsonValue],
    missing: tuple[str, ...],
    refused: str = "",
    approach: str = "",
) -> LoopInput:
    """Tell the model of a step what to do, with the results it builds on and those that are missing.

    `refused` says why an earlier attempt was not accepted, `approach` what to do differently.
    """
    step, uid = task["checked"].step, task["checked"].uid
    sections = [
        section("task", step.description),
        section("goal", task["goal"]),
        section("expected", step.expected_output),
        section("results", outputs, foreign=True),
        section("missing", [f"{name} brought nothing" for name in missing]),
        section("refused", refused, foreign=True),
        section("approach", approach, foreign=True),
        section("returns", step.returns or ""),
    ]
    text = render("agent_step", sections="".join(sections))
    loop = LoopTask(
        lane=uid,
        plan_hash=task["plan_hash"],
        goal=step.description,
        route=route,
        tools=(*step.tool_hints, "clarify"),
    )
    return LoopInput(loop=loop, conversation=[HumanMessage(text, id=f"{uid}_task")])


def step_result(
    checked: VerifiedStep, outcome: LoopOutcome, envelope: LaneEnvelope, task: str, inputs: int
) -> StepResult:
    """Turn the end of a loop into the result of its step, or of its call.

    `inputs` counts the results that it was given. What its own record does not bear out is a failure.
    """
    result = _ended(checked, outcome).model_copy(update={"envelope": envelope})
    if result.status != "completed":
        return result
    judged = judge_lane(task, envelope, inputs)
    if judged.flaw is None:
        return result
    update = {"status": "failed", "code": judged.flaw, "error": judged.remark, "output": None}
    return result.model_copy(update=update)


def _ended(checked: VerifiedStep, outcome: LoopOutcome) -> StepResult:
    """Say how a loop ended, by its own account."""
    if outcome.status == "cancelled":
        return bare_result(checked, "skipped", code=CANCELLED, error=outcome.text)
    if outcome.status != "completed":
        of_the_run = outcome.status in ("budget_exceeded", "timeout") and not outcome.code.startswith("lane.")
        code = outcome.status if of_the_run else outcome.code or outcome.status
        return bare_result(checked, "failed", code=code, error=outcome.text)
    return StepResult(
        uid=checked.uid,
        step_id=checked.step.id,
        capability=checked.step.shown_name,
        status="completed",
        output={"text": outcome.text},
    )
