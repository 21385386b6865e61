"""Whether what is to undo a call is there, changes something, and takes what it is given."""

from __future__ import annotations

from collections.abc import Iterator

from planwright.capabilities.arguments import misfits
from planwright.capabilities.compensation import template_flaws
from planwright.capabilities.registry import Registry
from planwright.domain.errors import SetupError
from planwright.domain.plan import CLOSING, Compensation, PlanStep
from planwright.records.effects.undos import PastEffect


def check_compensations(registry: Registry) -> None:
    """Raise SetupError for a declared compensation that could not be called.

    What is declared to be undone by something prohibited simply cannot be undone.
    """
    for capability in registry:
        compensation = capability.compensation
        for flaw in (
            _call_flaws(compensation, registry)
            if compensation and not registry.prohibits(compensation.capability)
            else ()
        ):
            raise SetupError(f"the compensation of {capability.name}: {flaw}", "mend the declaration")


def step_flaws(step: PlanStep, registry: Registry) -> Iterator[str]:
    """Say what is wrong with the compensation that a plan declares for a step."""
    if step.compensation is None:
        return
    capability = registry.get(step.capability or "")
    if capability is None or capability.chain:
        yield "calls of an agent or a chain are undone one by one, as their capabilities declare"
    elif capability.effect == "pure" or step.closing:
        yield f"{capability.name} changes nothing: it cannot be undone"
    else:
        yield from template_flaws(step.compensation, capability)
        yield from _call_flaws(step.compensation, registry)


def compensation_of(effect: PastEffect, registry: Registry) -> Compensation | None:
    """Look up what undoes an effect: its step of the plan says so, else its capability."""
    step = effect.step.step if effect.step else None
    if step and step.compensation and step.capability == effect.capability:
        return step.compensation
    capability = registry.get(effect.capability)
    return capability.compensation if capability else None


def _call_flaws(compensation: Compensation, registry: Registry) -> Iterator[str]:
    by = registry.get(compensation.capability)
    if by is None:
        yield f"there is no capability {compensation.capability!r}"
    elif by.effect == "pure":
        yield f"{by.name} changes nothing: it cannot undo anything"
    elif by.chain or compensation.capability in CLOSING:
        yield f"{by.name} is no single call with an effect"
    else:
        yield from misfits(by, compensation.params)
