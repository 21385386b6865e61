"""verify: the critic reads a plan before anything runs. Rules only, no model (SPEC 3.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains import surface_in_run
from planwright.capabilities.policy import evidence
from planwright.capabilities.registry import Registry
from planwright.checkpoints.budgets import Budgets, Spent
from planwright.checkpoints.gates import gate_id
from planwright.checkpoints.runs import RecordedPlan, Runs
from planwright.graph.canonical import sha256
from planwright.graph.invocation import invocation_of
from planwright.graph.plan import DELEGATE, CheckedStep, Plan, PlanStep
from planwright.graph.profile import Profile
from planwright.graph.results import Finding, StepResult
from planwright.graph.risk import at_least, highest_risk
from planwright.graph.schedule import topological
from planwright.graph.settings import Approval, Settings
from planwright.graph.state import AgentState, Attempts, ModelRoute
from planwright.nodes.card import plan_card
from planwright.nodes.estimate import Estimate, estimate, in_all, over_budget
from planwright.nodes.node import Node, Update
from planwright.nodes.planned_chains import with_planned_chains
from planwright.nodes.resources import resource_conflicts
from planwright.nodes.rules import check, ruling_of
from planwright.nodes.step_routing import unmet_hints
from planwright.nodes.surface import surface_of

Outcome = Literal["ok", "reclassify", "replan", "reject"]
SAID_BY_A_PERSON = frozenset(("rejected", "feedback"))


def verify(
    registry: Registry, runs: Runs, budgets: Budgets, settings: Settings, world: CallContext
) -> Node[AgentState]:
    """Check a plan, name its steps for good, and keep it where the gateway looks."""

    async def verify(state: AgentState, config: RunnableConfig) -> Update:
        invocation = invocation_of(config)
        plan = state["plan"]
        assert plan is not None
        if invocation.cancelled_by:
            return {
                "status": "cancelled",
                "answer": f"Cancelled by {invocation.cancelled_by}; nothing was run.",
            }
        plan, mended = close_plan(plan)
        results, changes = state.get("results", {}), state.get("changes", [])
        spent = await budgets.spent(invocation.run_id, invocation.clock())
        asked = world.on_behalf_of(invocation.context.tenant, invocation.profile.agent)
        surface = await surface_in_run(registry, world.chains, invocation.run_id, invocation.profile)
        attempts = state.get("attempts", Attempts())
        rules = Rules(surface, settings, asked, state["route"], invocation.profile, attempts.fixed)
        checked, findings, needed = await asyncio.to_thread(  # a preflight may read files
            examine, plan, rules, invocation.run_id, results, spent
        )
        spent_all = spent.calls == rules.calls
        outcome: Outcome = "reject" if findings and spent_all else judge(findings, attempts, settings)
        data = {"plan_id": plan.plan_id, "outcome": outcome, "closed": mended, "policy": world.policy.hash}
        if outcome != "ok":
            listed = [finding.model_dump(mode="json") for finding in findings]
            invocation.emit("plan_verified", {**data, "findings": listed}, str(attempts.revision))
            return _again(outcome, findings, attempts, state.get("findings", []))
        deep = settings.approval.depth == "plan_and_gates"
        known = in_all(needed, spent)
        shown = plan_card(plan, checked, changes, results, estimate=known, with_gates=deep)
        invocation.emit("plan_verified", {**data, "findings": [], "plan": shown}, str(attempts.revision))
        gate = None
        asks = changes or needs_approval(checked, settings.approval)
        if plan.work and (asks or await runs.was_asked_for(invocation.run_id, plan.plan_hash)):
            gate = gate_id(invocation.run_id, "plan", subject(plan, attempts))
        if not invocation.context.dry_run:
            recorded = RecordedPlan(plan=plan, checked=checked, gate_id=gate)
            await runs.record_plan(invocation.run_id, invocation.context.tenant, recorded, invocation.clock())
        update: dict[str, object] = {"plan": plan, "checked": checked, "gate_id": gate or "", "findings": []}
        update["estimate"] = known
        if invocation.context.dry_run:
            update |= {"status": "planned", "answer": "This is the plan; nothing was run."}
        return update

    return verify


@dataclass(frozen=True)
class Rules:
    """What a plan is measured by; `registry` is what its run may use, chains it has made among it.

    `route` is the model of its run, None when there is none yet. A `fixed` plan has no limit of steps.
    """

    registry: Registry
    settings: Settings
    world: CallContext
    route: ModelRoute | None
    profile: Profile
    fixed: bool = False

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
    findings += check(plan, registry, settings, world, can_call=rules.can_call, fixed=rules.fixed)
    findings += unmet_hints(plan, rules.route, settings.providers)
    checked = [] if findings else check_steps(plan, registry, world, run_id, results, settings)
    findings += resource_conflicts(checked, results, registry, world)
    needed = estimate(plan, checked, results, rules.route, registry, rules.profile, settings)
    return checked, findings or over_budget(needed, spent, rules.profile.limits), needed


def subject(plan: Plan, attempts: Attempts) -> str:
    """Name what a plan's gate asks: the same plan again only after a person has edited or responded.

    So a plan that was rejected stays rejected, and one that an edit brings back is asked for anew.
    """
    round_ = attempts.edits + attempts.responses
    return f"{plan.plan_hash}:{round_}" if round_ else plan.plan_hash


def close_plan(plan: Plan) -> tuple[Plan, bool]:
    """Give a plan that does not end with words a `respond` step (S3)."""
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


def judge(findings: list[Finding], attempts: Attempts, settings: Settings) -> Outcome:
    """Decide what follows from the findings, within the budgets for trying again."""
    if not findings:
        return "ok"
    if not attempts.replans_left(settings.planning.replan_budget):
        return "reject"
    unknown = any(finding.code == "unknown_capability" for finding in findings)
    if unknown and attempts.reclassifications < settings.planning.reclassify_budget:
        return "reclassify"
    return "replan"


def check_steps(
    plan: Plan,
    registry: Registry,
    world: CallContext,
    run_id: str,
    results: Mapping[str, StepResult],
    settings: Settings,
) -> list[CheckedStep]:
    """Fix uid, needs, mode, risk and gate of every step that does something.

    The uid of a step that a re-plan leaves unchanged stays the same, so its result is kept; a
    step that failed before gets a new one.
    """
    uids: dict[str, str] = {}
    checked: list[CheckedStep] = []
    by_id = {step.id: step for step in plan.work}
    needs = {id_: [n for n in plan.dependencies(step) if n in by_id] for id_, step in by_id.items()}
    for id_ in topological(needs):
        step = by_id[id_]
        needed = tuple(uids[n] for n in needs[id_])
        uids[id_] = step_uid(run_id, step, needed, results)
        general = (plan.on_failed_dependency, settings.execution.on_failed_dependency)
        cascade = step.on_failed_dependency or ("skip" if "skip" in general else "partial")
        fixed = {"step": step, "uid": uids[id_], "needs": needed, "cascade": cascade}
        judged = _surface(step, registry) if step.agentic else _call(step, registry, world)
        checked.append(CheckedStep.model_validate({**fixed, **judged}))
    return checked


def _call(step: PlanStep, registry: Registry, world: CallContext) -> dict[str, object]:
    """Judge a step that is one call: its declaration, the planner's estimate and the policy."""
    found = registry.get(step.capability or "")
    assert found is not None
    found = found.given(step.params, world)
    ruling = ruling_of(found, step, world)
    destructive = "destructive" in (found.mode, step.approval_mode)
    asks = ruling.answer == "ask" or destructive
    if destructive:
        ruling = replace(ruling, undecided=False)
    return {
        "policy": evidence(ruling, world) if asks else None,
        "effect": found.effect,
        "mode": found.mode,
        "risk": highest_risk(step.estimated_risk, found.risk),
        "gated": asks,
        "reason": ruling.reason,
        "chain": found.chain,
    }


def _surface(step: PlanStep, registry: Registry) -> dict[str, object]:
    """Judge an agentic step by the gravest of its tools; its calls have gates of their own."""
    named = (registry.get(name) for name in step.tool_hints if name != DELEGATE)
    surface = surface_of(tool for tool in named if tool)
    return {
        "effect": surface.effect,
        "mode": surface.mode,
        "risk": highest_risk(step.estimated_risk, surface.risk),
        "gated": False,
        "reason": "an agent does it with the tools named",
    }


def needs_approval(checked: list[CheckedStep], approval: Approval) -> bool:
    """Say whether a person has to see the plan before it runs (SPEC 3.5)."""
    if approval.plan != "risk":
        return approval.plan == "always"
    return any(
        step.gated or step.mode == "delegated" or at_least(step.risk, approval.plan_risk) for step in checked
    )


def step_uid(run_id: str, step: PlanStep, needs: tuple[str, ...], results: Mapping[str, StepResult]) -> str:
    """Name a step of a run for good, by what it does and needs; anew where that has failed before."""
    for again in range(100):
        uid = uid_of(run_id, step, needs, again)
        if uid not in results or results[uid].status == "completed":
            return uid
    raise AssertionError("a step cannot fail a hundred times within its budgets")


def uid_of(run_id: str, step: PlanStep, needs: tuple[str, ...], again: int) -> str:
    """Name one attempt at a step; `again` counts those that failed before it."""
    agent = [step.description, list(step.tool_hints)] if step.agentic else []
    hint = [step.routed_by.model_dump(mode="json")] if step.routed_by else []
    content = [run_id, step.id, step.capability, step.params, list(needs), again, *agent, *hint]
    return "step_" + sha256(content)[:16]


def _again(
    outcome: Outcome, findings: list[Finding], attempts: Attempts, before: Sequence[Finding]
) -> Update:
    if outcome == "reject":
        listed = "\n".join(f"- {finding}" for finding in findings[:5])
        spent = any(finding.code == "budget_exceeded" for finding in findings)
        return {
            "status": "budget_exceeded" if spent else "refused",
            "findings": findings,
            "answer": f"The plan was refused:\n{listed}",
        }
    tried = {"replans": attempts.replans + 1}
    if outcome == "reclassify":
        tried["reclassifications"] = attempts.reclassifications + 1
    said = [finding for finding in before if finding.code in SAID_BY_A_PERSON]
    return {"findings": said + findings, "plan": None, "attempts": attempts.model_copy(update=tried)}
