"""Which model does a step: routed by its hint, and told in the journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planwright.domain.errors import SetupError
from planwright.domain.model_hint import ModelHint
from planwright.domain.plan import Plan
from planwright.domain.results import Finding, StepResult
from planwright.domain.step_ends import bare_result
from planwright.domain.verified_step import VerifiedStep
from planwright.models.providers.matching import Providers, open_to_hints, step_route, unmet_by
from planwright.models.providers.router import Router
from planwright.state.agent_state import ModelRoute, StepTask
from planwright.state.invocation import Invocation

UNMET = "unmet_model_hint"


def route_of_step(router: Router, task: StepTask, invocation: Invocation) -> ModelRoute:
    """Choose the model of a step and tell of it, with what it lacks of the step's hint.

    Raises SetupError when no configured model has what is required.
    """
    step, uid = task["checked"].step, task["checked"].uid
    route = router.for_step(task["route"], step.routed_by)
    if step.routed_by is None:
        return route
    emit_route(router, route, step.routed_by, {"step_id": step.id, "uid": uid}, invocation)
    return route


def emit_route(
    router: Router, route: ModelRoute, hint: ModelHint, place: Mapping[str, str], invocation: Invocation
) -> None:
    """Tell which model serves a step, or the run, under a hint, and what it lacks of it."""
    lacking = unmet_by(router.providers, route, hint)
    why = "chosen" if not open_to_hints(route) else "fallback" if lacking else "fits"
    data = {**place, "provider": route.provider, "model": route.model, "why": why, "lacks": list(lacking)}
    event_fields = {**data, "hint": hint.model_dump(mode="json")}
    invocation.emit("model_routed", event_fields, f"{place['uid']}:{route.provider}/{route.model}")


def unmet_result(checked: VerifiedStep, error: SetupError) -> StepResult:
    """Settle a step that nobody can do: settings have changed since its plan was verified."""
    return bare_result(checked, "failed", code=UNMET, error=str(error))


def unmet_hints(plan: Plan, route: ModelRoute | None, providers: Providers) -> Iterator[Finding]:
    """Find the steps whose hint requires what no configured model has, before anything runs."""
    for step in plan.steps:
        if route is None or step.routed_by is None:
            continue
        try:
            step_route(providers, route, step.routed_by)
        except SetupError as error:
            fix = "leave it out of model_hint, or mark it preferred; a person can add a model that does"
            yield Finding(code=UNMET, step_id=step.id, message=error.cause, fix=fix)
