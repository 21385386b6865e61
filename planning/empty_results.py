"""What becomes of a step where a search found nothing: it is left out, goes on without, or ends the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.domain.plan import PlanStep
from planwright.domain.references import NothingFound, PlanEnded, resolve_params
from planwright.domain.results import StepResult
from planwright.domain.step_ends import bare_result
from planwright.domain.verified_step import VerifiedStep


def step_arguments(
    step: PlanStep, scope: Mapping[str, JsonValue], capability: Capability | None
) -> dict[str, JsonValue]:
    """Resolve the arguments of a step, as it says what is to become of nothing.

    Raises NothingFound, PlanEnded where the plan ends with that, and CapabilityRejected for a reference
    that leads nowhere.
    """
    if step.literal:
        return dict(step.params)
    try:
        return resolve_params(step.params, scope)
    except NothingFound as nothing:
        if step.on_empty == "end":
            raise PlanEnded(nothing.cause) from nothing
        if step.on_empty != "go_on":
            raise
    fields = capability.args_schema.get("properties") if capability else None
    texts = {name for name, form in (fields or {}).items() if form.get("type") == "string"}
    args = resolve_params(step.params, scope, empty=True)
    return {name: "" if value is None and name in texts else value for name, value in args.items()}


def left_out(
    checked: VerifiedStep, ends: Iterable[str], settled: Callable[[str], StepResult | None]
) -> StepResult | None:
    """Skip a step that has not begun, where another one has ended its plan; None where it goes on."""
    for uid in ends:
        if (result := settled(uid)) and result.code == PlanEnded.code:
            why = f"the plan ended at {result.step_id}: {result.error}"
            return bare_result(checked, "skipped", code=PlanEnded.code, error=why)
    return None


def refers_to_skipped(checked: VerifiedStep, results: Iterable[StepResult]) -> bool:
    """Say whether a step refers to one that was left out, and so has no arguments."""
    return any(result.status == "skipped" and result.step_id in checked.step.references for result in results)
