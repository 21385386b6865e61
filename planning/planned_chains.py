"""Chains that a plan makes for itself: checked with it, and there for the steps behind their making."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planwright.capabilities.arguments import check_arguments, misfits
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.compose import compose_chain
from planwright.capabilities.registry import Registry
from planwright.domain.chain import CREATE_CHAIN
from planwright.domain.errors import CapabilityRejected
from planwright.domain.plan import Plan
from planwright.domain.results import Finding
from planwright.domain.schedule import all_needs


def with_planned_chains(
    plan: Plan, registry: Registry, call_context: CallContext
) -> tuple[Registry, list[Finding]]:
    """Add the chains that steps of a plan make to what its run may use, and find what is wrong with them."""
    makers: dict[str, str] = {}
    findings = []
    surface = registry
    for step in plan.steps:
        capability = registry.get(CREATE_CHAIN) if step.capability == CREATE_CHAIN else None
        if capability is None:
            continue
        if any(misfits(capability, step.params)):
            continue  # the rules of arguments say what is wrong
        try:
            chain = compose_chain(check_arguments(capability, step.params), surface, surface, call_context)
        except CapabilityRejected as error:
            findings.append(_flawed(step.id, error))
            continue
        if chain.name not in surface:
            makers[chain.name] = step.id
            surface = surface.beside([chain])
    return surface, [*findings, *_unordered(plan, makers)]


def _flawed(step_id: str, error: CapabilityRejected) -> Finding:
    return Finding(code="bad_arguments", step_id=step_id, message=error.cause, fix=error.next_step)


def _unordered(plan: Plan, makers: Mapping[str, str]) -> Iterator[Finding]:
    """Find steps that use a chain and could begin before it is made."""
    needs = {step.id: plan.dependencies(step) for step in plan.steps}
    for step in plan.steps:
        for name in (step.capability, *step.tool_hints):
            maker = makers.get(name or "")
            if maker and maker not in all_needs(step.id, needs):
                message = f"{name} is made by {maker}, which it does not wait for"
                fix = f"let it depend on {maker}"
                yield Finding(code="missing_input", step_id=step.id, message=message, fix=fix)
