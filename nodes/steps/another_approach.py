"""another_approach: how an agent may do a step that it has not done, suggested by a model.

It changes words alone: the tools of the step, and what a person approved, stay as they are.
"""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig

from planwright.domain.errors import LimitExceeded, ModelError, SetupError
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.alternative import NONE
from planwright.execution.step_runner import StepRunner
from planwright.models.calling import Models
from planwright.models.model_calls import Prompt
from planwright.planning.step_identity import earlier_uids
from planwright.prompts import render, section
from planwright.settings.execution import AlternativeSettings
from planwright.settings.settings import Settings
from planwright.state.agent_state import StepTask
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.lane_state import LaneState, LaneUpdate
from planwright.state.node import Node

MOST_CHARACTERS = 2000


def another_approach(models: Models, runner: StepRunner, settings: Settings) -> Node[LaneState, LaneUpdate]:
    """Ask for another approach before a step is run again; without one it fails as it did before.

    Where nobody can be asked, it is run again with nothing but the reason.
    """

    async def another_approach(state: LaneState, config: RunnableConfig) -> LaneUpdate:
        invocation, task = invocation_of(config), state["step_task"]
        last = refused_before(task["checked"], invocation)
        if last is None or not settings.alternative.enabled:
            return {}
        approach = await _suggested(models, task, last, settings.alternative, invocation)
        if approach is None:
            failed = last.model_copy(update={"uid": task["checked"].uid})
            return {"results": {failed.uid: await runner.settle(task, failed, invocation)}}
        runner.emit_retry(task, last, {"approach": approach}, invocation)
        return {"approach": approach}

    return another_approach


def refused_before(checked: VerifiedStep, invocation: Invocation) -> StepResult | None:
    """Read how the attempt before this one ended, which was not accepted; None where this is the first."""
    earlier = earlier_uids(invocation.run_id, checked)
    return invocation.board.settled(earlier[-1]) if earlier else None


def suggestion(reply: str) -> str | None:
    """Read a suggestion; None where the model sees no other way."""
    return None if NONE in reply else reply.strip()[:MOST_CHARACTERS]


async def _suggested(
    models: Models, task: StepTask, failed: StepResult, limits: AlternativeSettings, invocation: Invocation
) -> str | None:
    step = task["checked"].step
    lane_calls = failed.envelope.calls if failed.envelope else ()
    calls = [{"capability": call.capability, "ended": call.ended, "error": call.error} for call in lane_calls]
    words = failed.envelope.result if failed.envelope else ""
    message = [
        section("goal", task["goal"]),
        section("task", step.description),
        section("expected", step.expected_output),
        section("tools", list(step.tool_hints)),
        section("failed", {"calls": calls, "words": words, "error": failed.error}, foreign=True),
    ]
    prompt = Prompt(
        "approach",
        render("approach"),
        "".join(message),
        max_tokens=limits.max_tokens,
        temperature=limits.temperature,
    )
    try:
        reply = await models.complete(task["route"], prompt, invocation, f"approach:{task['checked'].uid}")
    except (ModelError, LimitExceeded, SetupError):
        return ""
    return suggestion(reply)
