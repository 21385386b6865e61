"""What a plan has to pass before it may run: all the rules, and what each step is judged to be."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from planwright.capabilities.arguments import as_called
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.gateway.pins import files_shown, pin_now
from planwright.capabilities.gateway.read_files import passes_unknown_file
from planwright.capabilities.policy.consent import judge
from planwright.capabilities.policy.decide import evidence
from planwright.capabilities.registry import Registry
from planwright.domain.plan import DELEGATE, Plan, PlanStep
from planwright.domain.results import Finding, StepResult
from planwright.domain.risk import at_least, highest_risk, looser
from planwright.domain.schedule import topological
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.decision_rules import bound_decisions
from planwright.planning.done_steps import about_others, is_done
from planwright.planning.estimate import Estimate, estimate, over_budget
from planwright.planning.model_hints import unmet_hints
from planwright.planning.planned_chains import with_planned_chains
from planwright.planning.rules import Rules, check
from planwright.planning.step_gates import decisions_before, gates_of
from planwright.planning.step_identity import step_uid
from planwright.planning.surface import surface_of
from planwright.planning.taint import tainted_steps
from planwright.planning.write_conflicts import in_order
from planwright.records.budget_usage import Spent
from planwright.settings.approval import ApprovalSettings


def examine(
    plan: Plan, rules: Rules, run_id: str, results: Mapping[str, StepResult], spent: Spent, effects: int
) -> tuple[list[VerifiedStep], list[Finding], Estimate]:
    """Check a closed plan by all the rules, and fix its steps if it holds, within what its run has left.

    `effects` is how many the run has had.
    """
    registry, findings = with_planned_chains(plan, rules.registry, rules.call_context)
    rules = replace(rules, registry=registry)
    tainted = tainted_steps(plan, registry, rules.call_context.tainted)
    findings += check(plan, rules, tainted)
    findings += unmet_hints(plan, rules.route, rules.settings.providers)
    findings = about_others(findings, rules.done)
    checked = [] if findings else check_steps(plan, rules, run_id, results, tainted)
    checked, broken = in_order(plan, checked, results, registry, rules.call_context)
    findings += about_others(broken, rules.done)
    needed = estimate(plan, checked, results, rules)
    return checked, findings or over_budget(needed, spent, rules.profile.limits, effects), needed


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
    plan: Plan, rules: Rules, run_id: str, results: Mapping[str, StepResult], tainted: Container[str]
) -> list[VerifiedStep]:
    """Fix uid, needs, mode, risk, consent and gate of every step that does something.

    The uid of a step that a re-plan leaves unchanged stays the same, so its result is kept; a
    step that failed before gets a new one. One that was done under an earlier plan stays as it was verified.
    """
    settings, uids = rules.settings, dict[str, str]()
    checked: list[VerifiedStep] = []
    by_id = {step.id: step for step in plan.work}
    needs = {id_: [n for n in plan.dependencies(step) if n in by_id] for id_, step in by_id.items()}
    decisions = decisions_before(plan, needs)
    for id_ in topological(needs):
        step = by_id[id_]
        needed = tuple(uids[n] for n in needs[id_])
        if is_done(step, rules.done):
            fixed = {"step": step, "needs": needed, "follows": ()}
            checked.append(rules.done[id_].model_copy(update=fixed))
            uids[id_] = checked[-1].uid
            continue
        uids[id_] = step_uid(run_id, step, needed, results)
        general = (plan.on_failed_dependency, settings.execution.on_failed_dependency)
        cascade = step.on_failed_dependency or ("skip" if "skip" in general else "partial")
        fixed = {"step": step, "uid": uids[id_], "needs": needed, "cascade": cascade}
        step_context = replace(rules.call_context, tainted=step.id in tainted, decided=decisions[id_])
        consent = _surface if step.agentic else judge_call
        judged = consent(step, rules.registry, step_context, settings.approval)
        policy = rules.call_context.policy
        bound = bound_decisions(plan, id_, policy, uids) if policy.decisions else ()
        taken = {"decisions": decisions[id_], "bound": bound}
        entry = VerifiedStep.model_validate({**fixed, **judged, **taken})
        gates = gates_of(step, entry.effect, entry.decisions, policy)
        checked.append(entry.model_copy(update={"gates": gates}))
    return checked


def judge_call(
    step: PlanStep,
    registry: Registry,
    call_context: CallContext,
    approval: ApprovalSettings,
    *,
    known: bool = False,
) -> dict[str, object]:
    """Judge a step that is one call: its declaration, the planner's estimate, the policy, and consent.

    Where its arguments are `known`, what looks like a reference in them is text. An estimate that repeats the
    gravest risk of a capability whose calls vary says nothing of this call: planners copy the catalogue.
    """
    declared, references = registry[step.capability or ""], not (step.literal or known)
    params = as_called(declared, step.params, literal=not references)
    capability = declared.narrowed(params, call_context)
    copied = capability.varies is not None and step.estimated_risk == declared.risk
    risk = capability.risk if copied else highest_risk(step.estimated_risk, capability.risk)
    judged = judge(capability, params, call_context, approval.of_plan, risk=risk, references=references)
    destructive = "destructive" in (capability.mode, step.approval_mode)
    never_shown = approval.plan == "never" and judged.asks
    with_plan = judged.asks and not judged.own_gate and references
    unseen = with_plan and passes_unknown_file(capability, params, call_context)
    gated = judged.own_gate or destructive or never_shown or unseen
    stricter = step.approval_mode is not None and looser(capability.mode, step.approval_mode)
    ruling = replace(judged.ruling, undecided=(judged.undecided or unseen) and not destructive)
    return {
        "policy": evidence(ruling, call_context) if gated else None,
        "effect": capability.effect,
        "mode": capability.mode,
        "risk": risk,
        "gated": gated,
        "asks": judged.asks or gated or stricter,
        "tainted": call_context.tainted,
        "reason": judged.reason,
        "chain": capability.chain,
        "undeclared": capability.is_unknown,
        "asks_once": capability.may == "asks_once",
    }


def _surface(
    step: PlanStep, registry: Registry, call_context: CallContext, approval: ApprovalSettings
) -> dict[str, object]:
    """Judge an agentic step by the gravest of its tools; its calls have gates of their own."""
    named = (registry.get(name) for name in step.tool_hints if name != DELEGATE)
    surface = surface_of(tool.by_answer(call_context) for tool in named if tool)
    risk = highest_risk(step.estimated_risk, surface.risk)
    return {
        "effect": surface.effect,
        "mode": surface.mode,
        "risk": risk,
        "gated": False,
        "asks": approval.of_plan is not None and at_least(risk, approval.of_plan),
        "tainted": call_context.tainted,
        "reason": "an agent does it with the tools named",
    }


def pinned(checked: list[VerifiedStep], registry: Registry, context: CallContext) -> list[VerifiedStep]:
    """Pin each step to what it calls, and to the policy, as they are now."""
    pins = (pin_now(entry, registry, context) for entry in checked)
    return [entry.model_copy(update={"pin": pin}) for entry, pin in zip(checked, pins, strict=True)]


def pinned_with_files(
    checked: list[VerifiedStep], registry: Registry, context: CallContext
) -> tuple[list[VerifiedStep], dict[str, dict[str, JsonValue]]]:
    """Pin steps, and show the files that they pass on, by the ids of the steps."""
    return pinned(checked, registry, context), files_shown(checked, registry, context)


def needs_approval(checked: Sequence[VerifiedStep], approval: ApprovalSettings) -> bool:
    """Say whether a person has to see the plan before it runs."""
    if approval.plan != "risk":
        return approval.plan == "always"
    return any(step.asks or (step.mode == "delegated" and step.step.agentic) for step in checked)
