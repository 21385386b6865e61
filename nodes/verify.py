"""verify: the critic reads a plan before anything runs. Rules only, no model (SPEC 3.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains import surface_in_run
from planwright.capabilities.registry import Registry
from planwright.checkpoints.budgets import Budgets
from planwright.checkpoints.gates import gate_id
from planwright.checkpoints.plans import Plans, RecordedPlan
from planwright.graph.canonical import sha256
from planwright.graph.invocation import invocation_of
from planwright.graph.plan import CheckedStep, Plan
from planwright.graph.results import Finding
from planwright.graph.settings import Settings
from planwright.graph.state import AgentState, Attempts, ModelRoute, Task
from planwright.nodes.card import plan_card
from planwright.nodes.estimate import in_all
from planwright.nodes.node import Node, Update
from planwright.nodes.taint import Taint
from planwright.nodes.verification import Rules, close_plan, examine, needs_approval, pinned

Outcome = Literal["ok", "reclassify", "replan", "reject"]
SAID_BY_A_PERSON = frozenset(("rejected", "feedback"))


def verify(
    registry: Registry, plans: Plans, budgets: Budgets, settings: Settings, world: CallContext, taint: Taint
) -> Node[AgentState]:
    """Check a plan, name its steps for good, and keep it, with its card, where gate and gateway look."""

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
        whose = (invocation.context.tenant, invocation.profile.agent, invocation.words)
        opening = bool(state.get("task", Task(task="")).memories) or await taint.of_plan(invocation)
        asked = world.on_behalf_of(*whose, tainted=opening)
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
        checked = pinned(checked, registry, world.policy.hash)
        known = in_all(needed, spent)
        shown = plan_card(plan, checked, changes, results, estimate=known, with_gates=deep)
        invocation.emit("plan_verified", {**data, "findings": [], "plan": shown}, str(attempts.revision))
        gate = None
        asks = changes or needs_approval(checked, settings.approval)
        if plan.work and (asks or await plans.was_asked_for(invocation.run_id, plan.plan_hash)):
            gate = gate_id(invocation.run_id, "plan", subject(plan, attempts, checked))
        if not invocation.context.dry_run:
            card = gate_card(shown, attempts, state["route"], settings) if gate else None
            recorded = RecordedPlan(plan=plan, checked=checked, gate_id=gate, card=card)
            await plans.record(invocation.run_id, invocation.context.tenant, recorded, invocation.clock())
        update: dict[str, object] = {"plan": plan, "checked": checked, "gate_id": gate or "", "findings": []}
        update["estimate"] = known
        if invocation.context.dry_run:
            update |= {"status": "planned", "answer": "This is the plan; nothing was run."}
        return update

    return verify


def subject(plan: Plan, attempts: Attempts, checked: Sequence[CheckedStep]) -> str:
    """Name what a plan's gate asks: the same plan again only after a person has edited or responded.

    So a plan that was rejected stays rejected, and one that an edit brings back is asked for anew; so is one
    whose capabilities, or the policy, have changed.
    """
    pins = sha256(sorted({entry.pin for entry in checked}))[:16]
    return f"{plan.plan_hash}:{attempts.edits + attempts.responses}:{pins}"


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


def gate_card(
    shown: dict[str, Any], attempts: Attempts, route: ModelRoute, settings: Settings
) -> dict[str, Any]:
    """Add to the card of a plan what decides which answers its gate takes: feedback needs a model."""
    left = 0 if route.embedded else attempts.replans_left(settings.planning.replan_budget)
    return {**shown, "replans_left": left, **({"fixed": True} if attempts.fixed else {})}


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
