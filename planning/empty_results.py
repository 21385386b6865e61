"""What becomes of a step where a search found nothing: it is left out, goes on without, or ends the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.domain.plan import PlanStep
from planwright.domain.references import NothingFound, PlanEnded, resolve_params
from planwright.domain.results import StepResult
from planwright.domain.schedule import cascade_decision
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


def without_needs(checked: VerifiedStep, results: Mapping[str, StepResult]) -> StepResult | None:
    """Skip a step by its cascade, or one that refers to what was left out and so has no arguments.

    `results` are those of the steps that it needs, by uid; None where it may run.
    """
    decision, missing = cascade_decision(checked.needs, results, checked.cascade)
    skipped = {result.step_id for result in results.values() if result.status == "skipped"}
    if decision == "run" and skipped.isdisjoint(checked.step.references):
        return None
    why = f"it needs {', '.join(missing)}, which did not succeed"
    return bare_result(checked, "skipped", code="dependency_failed", error=why, missing=missing)
