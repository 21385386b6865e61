"""What a plan has to pass before it may run: all the rules, and what each step is judged to be."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.gateway.pins import pin_now
from planwright.capabilities.policy.consent import judge
from planwright.capabilities.policy.decide import evidence
from planwright.capabilities.registry import Registry
from planwright.checkpoints.budgets import Spent
from planwright.domain.plan import DELEGATE, CheckedStep, Plan, PlanStep
from planwright.domain.results import Finding, StepResult
from planwright.domain.risk import at_least, highest_risk, looser
from planwright.domain.schedule import topological
from planwright.planning.estimate import Estimate, estimate, over_budget
from planwright.planning.model_hints import unmet_hints
from planwright.planning.planned_chains import with_planned_chains
from planwright.planning.rules import check
from planwright.planning.step_gates import decisions_before, gates_of
from planwright.planning.step_identity import step_uid
from planwright.planning.surface import surface_of
from planwright.planning.taint import tainted_steps
from planwright.planning.write_conflicts import in_order
from planwright.settings.profile import Profile
from planwright.settings.settings import Approval, Settings
from planwright.state.agent_state import ModelRoute


@dataclass(frozen=True)
class Rules:
    """What a plan is measured by; `registry` is what its run may use, chains it has made among it.

    `route` is the model of its run, None when there is none yet. A `fixed` plan has no limit of steps.
    """

    registry: Registry
    """Capabilities that the run may use, with the chains it has made."""
    settings: Settings
    """Settings of the workspace."""
    world: CallContext
    """What its calls will see, for preflights and the policy."""
    route: ModelRoute | None
    """Model of the run; None when there is none yet."""
    profile: Profile
    """What is in force for the run."""
    fixed: bool = False
    """Whether the plan is no model's, so that it has no limit of steps."""

    @property
    def calls(self) -> int | None:
        """How many calls the run may make in all."""
        return self.profile.limits.tool_calls

    @property
    def can_call(self) -> bool:
        """Whether the model of the run can call tools."""
        return self.route is not None and self.route.can_call


def examine(
    plan: Plan, rules: Rules, run_id: str, results: Mapping[str, StepResult], spent: Spent
) -> tuple[list[CheckedStep], list[Finding], Estimate]:
    """Check a closed plan by all the rules, and fix its steps if it holds, within what its run has left."""
    settings, world = rules.settings, rules.world
    registry, findings = with_planned_chains(plan, rules.registry, world)
    tainted = tainted_steps(plan, registry, world.tainted)
    models = {"can_call": rules.can_call, "fixed": rules.fixed}
    findings += check(plan, registry, settings, world, **models, tainted=tainted)
    findings += unmet_hints(plan, rules.route, settings.providers)
    checked = [] if findings else check_steps(plan, registry, world, run_id, results, settings, tainted)
    checked, broken = in_order(plan, checked, results, registry, world)
    findings += broken
    needed = estimate(plan, checked, results, rules.route, registry, rules.profile, settings)
    return checked, findings or over_budget(needed, spent, rules.profile.limits), needed


def close_plan(plan: Plan) -> tuple[Plan, bool]:
    """Give a plan that does not end with words a `respond` step."""
    if plan.steps and plan.steps[-1].closing:
        return plan, False
    taken = {step.id for step in plan.steps}
    name = next(
        name for n in range(len(taken) + 1) if (name := "respond" if n == 0 else f"respond_{n}") not in taken
    )
    closing = PlanStep(
        id=name,
        capability="respond",
        description="Answer the user",
        depends_on=tuple(step.id for step in plan.steps),
        estimated_risk="None",
    )
    return plan.model_copy(update={"steps": (*plan.steps, closing)}), True


def check_steps(
    plan: Plan,
    registry: Registry,
    world: CallContext,
    run_id: str,
    results: Mapping[str, StepResult],
    settings: Settings,
    tainted: Container[str],
) -> list[CheckedStep]:
    """Fix uid, needs, mode, risk, consent and gate of every step that does something.

    The uid of a step that a re-plan leaves unchanged stays the same, so its result is kept; a
    step that failed before gets a new one.
    """
    uids: dict[str, str] = {}
    checked: list[CheckedStep] = []
    by_id = {step.id: step for step in plan.work}
    needs = {id_: [n for n in plan.dependencies(step) if n in by_id] for id_, step in by_id.items()}
    decisions = decisions_before(plan, needs)
    for id_ in topological(needs):
        step = by_id[id_]
        needed = tuple(uids[n] for n in needs[id_])
        uids[id_] = step_uid(run_id, step, needed, results)
        general = (plan.on_failed_dependency, settings.execution.on_failed_dependency)
        cascade = step.on_failed_dependency or ("skip" if "skip" in general else "partial")
        fixed = {"step": step, "uid": uids[id_], "needs": needed, "cascade": cascade}
        call_context = replace(world, tainted=step.id in tainted)
        consent = _surface if step.agentic else _call
        judged = consent(step, registry, call_context, settings.approval)
        entry = CheckedStep.model_validate({**fixed, **judged, "decisions": decisions[id_]})
        gates = gates_of(step, entry.effect, entry.decisions, world.policy)
        checked.append(entry.model_copy(update={"gates": gates}))
    return checked


def _call(step: PlanStep, registry: Registry, world: CallContext, approval: Approval) -> dict[str, object]:
    """Judge a step that is one call: its declaration, the planner's estimate, the policy, and consent."""
    capability = registry.get(step.capability or "")
    assert capability is not None
    capability, references = capability.given(step.params, world), not step.literal
    risk = highest_risk(step.estimated_risk, capability.risk)
    judged = judge(capability, step.params, world, approval.of_plan, risk=risk, references=references)
    destructive = "destructive" in (capability.mode, step.approval_mode)
    never_shown = approval.plan == "never" and judged.asks
    gated = judged.own_gate or destructive or never_shown
    stricter = step.approval_mode is not None and looser(capability.mode, step.approval_mode)
    ruling = replace(judged.ruling, undecided=judged.undecided and not destructive)
    return {
        "policy": evidence(ruling, world) if gated else None,
        "effect": capability.effect,
        "mode": capability.mode,
        "risk": risk,
        "gated": gated,
        "asks": judged.asks or gated or stricter,
        "tainted": world.tainted,
        "reason": judged.reason,
        "chain": capability.chain,
    }


def _surface(step: PlanStep, registry: Registry, world: CallContext, approval: Approval) -> dict[str, object]:
    """Judge an agentic step by the gravest of its tools; its calls have gates of their own."""
    named = (registry.get(name) for name in step.tool_hints if name != DELEGATE)
    surface = surface_of(tool for tool in named if tool)
    risk = highest_risk(step.estimated_risk, surface.risk)
    return {
        "effect": surface.effect,
        "mode": surface.mode,
        "risk": risk,
        "gated": False,
        "asks": approval.of_plan is not None and at_least(risk, approval.of_plan),
        "tainted": world.tainted,
        "reason": "an agent does it with the tools named",
    }


def pinned(checked: list[CheckedStep], registry: Registry, policy_hash: str) -> list[CheckedStep]:
    """Pin each step to what it calls, and to the policy, as they are now."""
    pins = (pin_now(entry, registry, policy_hash) for entry in checked)
    return [entry.model_copy(update={"pin": pin}) for entry, pin in zip(checked, pins, strict=True)]


def needs_approval(checked: Sequence[CheckedStep], approval: Approval) -> bool:
    """Say whether a person has to see the plan before it runs."""
    if approval.plan != "risk":
        return approval.plan == "always"
    return any(step.asks or (step.mode == "delegated" and step.step.agentic) for step in checked)
