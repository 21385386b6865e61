"""Which gates a step has to pass before it begins: those its plan names, or one for a decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from planwright.capabilities.policy.file import Policy
from planwright.capabilities.registry import Registry
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.results import Finding
from planwright.domain.risk import Effect
from planwright.domain.schedule import all_needs
from planwright.domain.verified_step import StepGate, VerifiedStep

NOT_BOUND = "not bound: there is no decision catalog"


def decisions_before(plan: Plan, needs: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Name the decisions that are to be taken before each step: those after a step that it builds on."""
    return {
        id_: tuple(
            checkpoint.decision_id
            for checkpoint in plan.decision_checkpoints
            if checkpoint.after_step in all_needs(id_, needs)
        )
        for id_ in needs
    }


def gates_of(
    step: PlanStep, effect: Effect, decisions: Sequence[str], policy: Policy
) -> tuple[StepGate, ...]:
    """List the gates that people open before a step begins, in their order.

    A decision of the catalog is taken by its evidence. Nobody can take any other, so a step with an effect
    that is to come after one asks a person, unless it does so already at a gate that its plan names.
    """
    named = tuple(
        StepGate(name=name, **policy.gates[name].model_dump())
        for name in dict.fromkeys(step.requires)
        if name in policy.gates
    )
    if named or effect == "pure":
        return named
    reason = f"the decision is {NOT_BOUND}"
    open_ = (name for name in dict.fromkeys(decisions) if name not in policy.decisions)
    return tuple(StepGate(name=name, reason=reason) for name in open_)


def dropped(
    steps: Sequence[VerifiedStep], earlier: Sequence[VerifiedStep], registry: Registry
) -> Iterator[Finding]:
    """Find gates and decisions that earlier plans of a run put before a call, and a new one does not.

    Nobody is led past a gate by another plan, whether a model or a person has made it.
    """
    guards = [(_guarded(old, registry), old) for old in earlier if old.gates]
    for entry in steps:
        uses = {entry.step.capability, *entry.step.tool_hints}
        before = [old for calls, old in guards if uses & calls]
        gates = [name for old in before for name in old.step.requires if name not in entry.step.requires]
        decisions = [name for old in before for name in old.decisions if name not in entry.decisions]
        for code, names in (("missing_gate", gates), ("violates_decision_spec", decisions)):
            if names:
                gate_names = ", ".join(dict.fromkeys(names))
                message = f"an earlier plan of this run put {gate_names} before {entry.step.shown_name}"
                fix = "keep its `requires`, and the `decision_checkpoints` before it"
                yield Finding(code=code, step_id=entry.step.id, message=message, fix=fix)


def agent_args(checked: VerifiedStep) -> dict[str, JsonValue]:
    """Show what an agent is given, in the place of the arguments of a call."""
    return {"task": checked.step.description, "tools": list(checked.step.tool_hints)}


def _guarded(entry: VerifiedStep, registry: Registry) -> set[str]:
    """Name what the gates of a step stand before: its call, or the tools of its agent that have an effect."""
    if entry.step.capability:
        return {entry.step.capability}
    return {name for name in entry.step.tool_hints if (tool := registry.get(name)) and tool.effect != "pure"}
