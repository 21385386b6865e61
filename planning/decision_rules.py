"""Decisions in a plan: what each rests on, and what the steps after it have to keep to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planwright.capabilities.policy.decisions import DecisionSpec
from planwright.capabilities.policy.file import Policy
from planwright.capabilities.registry import Registry
from planwright.domain.plan import DecisionCheckpoint, Plan, PlanStep
from planwright.domain.results import Finding
from planwright.domain.risk import looser
from planwright.domain.schedule import all_needs
from planwright.domain.verified_step import BoundDecision
from planwright.planning.surface import surface_of
from planwright.presentation.nearest import nearest
from planwright.settings.profile import stands_for

VIOLATES = "violates_decision_spec"


def decision_flaws(plan: Plan, registry: Registry, policy: Policy) -> Iterator[Finding]:
    """Find decisions that the catalog does not have, without evidence, or without their gates."""
    needs = needs_in(plan)
    for checkpoint in plan.decision_checkpoints:
        spec = policy.decisions.get(checkpoint.decision_id)
        if spec is None:
            yield _unknown(checkpoint, policy)
        elif checkpoint.after_step in needs:
            yield from _without_evidence(plan, checkpoint, spec, needs)
            yield from _after(plan, checkpoint, spec, needs, registry)
    yield from _uncovered(plan, policy, needs)


def bound_decisions(
    plan: Plan, step_id: str, policy: Policy, uids: Mapping[str, str]
) -> tuple[BoundDecision, ...]:
    """Bind the decisions before a step to the steps that bring their evidence, by uid.

    The same decision may be taken several times in a plan; those beside the step are about something else.
    """
    needs = needs_in(plan)
    before, bound = needs[step_id] - {step_id}, []
    step = next(step for step in plan.steps if step.id == step_id)
    for checkpoint in plan.decision_checkpoints:
        spec = policy.decisions.get(checkpoint.decision_id)
        if spec is None or checkpoint.after_step not in before or not _is_about(spec, step):
            continue
        sources = {name: uids[source.id] for name, source in _sources(plan, checkpoint, spec, needs).items()}
        bound.append(BoundDecision(decision_id=spec.id, version=spec.version, sources=sources))
    return tuple(bound)


def _is_about(spec: DecisionSpec, step: PlanStep) -> bool:
    """Say whether a decision is about a step behind it: a call that it covers, or any where it names none.

    A draft to whom the rules refuse a refund comes after the checks, and is no refund.
    """
    names = (step.capability, *step.tool_hints)
    return not spec.covers or any(name and spec.covering(name) for name in names)


def needs_in(plan: Plan) -> dict[str, frozenset[str]]:
    """Map each step to all that come before it, over any number of steps between, itself among them."""
    needs = {step.id: plan.dependencies(step) for step in plan.steps}
    return {id_: frozenset((id_, *all_needs(id_, needs))) for id_ in needs}


def _sources(
    plan: Plan, checkpoint: DecisionCheckpoint, spec: DecisionSpec, needs: Mapping[str, frozenset[str]]
) -> dict[str, PlanStep]:
    """Find the step that brings each evidence: the last one before the decision that calls for it."""
    before = [step for step in plan.steps if step.id in needs.get(checkpoint.after_step, ())]
    sources = {}
    for name, evidence in spec.evidence.items():
        calling = [step for step in before if stands_for(evidence.capability, step.capability or "")]
        if calling:
            sources[name] = calling[-1]
    return sources


def _unknown(checkpoint: DecisionCheckpoint, policy: Policy) -> Finding:
    near = nearest(checkpoint.decision_id, policy.decisions, limit=3)
    message = f"there is no decision {checkpoint.decision_id!r} in the catalog"
    return Finding(code=VIOLATES, message=message, fix=f"nearest: {', '.join(near)}")


def _without_evidence(
    plan: Plan, checkpoint: DecisionCheckpoint, spec: DecisionSpec, needs: Mapping[str, frozenset[str]]
) -> Iterator[Finding]:
    sources = _sources(plan, checkpoint, spec, needs)
    for name, evidence in spec.evidence.items():
        if name not in sources:
            message = f"decision {spec.id} rests on {name!r}, a result of {evidence.capability}"
            fix = f"let {checkpoint.after_step} come after a step that calls {evidence.capability}"
            yield Finding(code="missing_evidence", step_id=checkpoint.after_step, message=message, fix=fix)


def _after(
    plan: Plan,
    checkpoint: DecisionCheckpoint,
    spec: DecisionSpec,
    needs: Mapping[str, frozenset[str]],
    registry: Registry,
) -> Iterator[Finding]:
    """Look at the steps with an effect that build on the step a decision is about."""
    for step in plan.work:
        if step.id == checkpoint.after_step or checkpoint.after_step not in needs[step.id]:
            continue
        names = (step.capability,) if step.capability else step.tool_hints
        surface = surface_of(tool for name in names if (tool := registry.get(name)))
        if surface.effect == "pure":
            continue
        for gate in spec.gates if _is_about(spec, step) else ():
            if gate not in step.requires:
                message = f"decision {spec.id} comes before it, and its gate {gate} is not required"
                fix = f'add "{gate}" to `requires`'
                yield Finding(code="missing_gate", step_id=step.id, message=message, fix=fix)
        if spec.mode is not None and looser(spec.mode, surface.mode):
            message = (
                f"it is {surface.mode}, and after decision {spec.id} nothing beyond {spec.mode} may come"
            )
            fix = "leave it out"
            yield Finding(code=VIOLATES, step_id=step.id, message=message, fix=fix)


def _uncovered(plan: Plan, policy: Policy, needs: Mapping[str, frozenset[str]]) -> Iterator[Finding]:
    """Find calls that may be made after a decision alone, and come after none."""
    for step in plan.work:
        for spec in policy.decisions.values():
            taken = any(
                checkpoint.decision_id == spec.id and checkpoint.after_step in needs[step.id] - {step.id}
                for checkpoint in plan.decision_checkpoints
            )
            hints = [name for name in step.tool_hints if spec.covering(name)]
            if hints:
                message = f"{hints[0]} may be called by a step of its own alone, after decision {spec.id}"
                fix = "give it a step of its own"
                yield Finding(code=VIOLATES, step_id=step.id, message=message, fix=fix)
            names = [step.capability] if step.capability and spec.covering(step.capability) else []
            if names and not taken:
                message = f"{names[0]} may be called after decision {spec.id} alone"
                fix = f'add {{"decision_id": "{spec.id}", "after_step": …}} to `decision_checkpoints`'
                yield Finding(code=VIOLATES, step_id=step.id, message=message, fix=fix)
