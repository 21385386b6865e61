"""agentic_step: what opens the loop of a step, and what its result is."""

from __future__ import annotations

from langchain_core.messages import HumanMessage
from pydantic import JsonValue

from planwright.graph.loop_state import LoopInput, LoopOutcome, LoopTask
from planwright.graph.plan import CheckedStep
from planwright.graph.results import StepResult
from planwright.graph.state import ModelRoute, StepTask
from planwright.nodes.step_runner import ended
from planwright.prompts import as_data, render


def step_opening(
    task: StepTask, route: ModelRoute, outputs: dict[str, JsonValue], missing: tuple[str, ...]
) -> LoopInput:
    """Tell the model of a step what to do, with the results it builds on and those that are missing."""
    step, uid = task["checked"].step, task["checked"].uid
    text = render(
        "agent_step",
        task=as_data(step.description),
        goal=as_data(task["goal"]),
        expected=as_data(step.expected_output),
        results=as_data(outputs),
        missing=as_data(list(missing)),
    )
    loop = LoopTask(
        lane=uid,
        plan_hash=task["plan_hash"],
        goal=step.description,
        route=route,
        tools=(*step.tool_hints, "clarify"),
    )
    return LoopInput(loop=loop, conversation=[HumanMessage(text, id=f"{uid}_task")])


def step_result(checked: CheckedStep, outcome: LoopOutcome) -> StepResult:
    """Turn the end of a loop into the result of its step."""
    if outcome.status == "cancelled":
        return ended(checked, "skipped", code="cancelled", error=outcome.text)
    if outcome.status != "completed":
        of_the_run = outcome.status in ("budget_exceeded", "timeout") and not outcome.code.startswith("lane.")
        code = outcome.status if of_the_run else outcome.code or outcome.status
        return ended(checked, "failed", code=code, error=outcome.text)
    return StepResult(
        uid=checked.uid,
        step_id=checked.step.id,
        capability=checked.step.shown_name,
        status="completed",
        output={"text": outcome.text},
    )
