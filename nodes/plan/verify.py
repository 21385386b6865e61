"""verify: the critic reads a plan before anything runs. Rules only, no model."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Mapping, Sequence
from typing import Literal

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.approvals.card import PlanProgress, order_added, plan_card
from planwright.approvals.descriptions import with_step_descriptions
from planwright.approvals.origins import with_step_origins
from planwright.approvals.outside import with_outside
from planwright.approvals.step_phrases import with_criteria, with_phrases
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.chains.run_chains import allowed_in_run
from planwright.capabilities.registry import Registry
from planwright.critic.rubrics import Rubrics
from planwright.critic.ruling import failures
from planwright.domain.hashing import sha256
from planwright.domain.plan import Plan
from planwright.domain.results import Finding, StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.refused_in_doubt import doubted_steps
from planwright.execution.run_so_far import ended_for_good, plan_progress
from planwright.execution.surroundings import has_foreign_text
from planwright.planning.catalogue import catalogue_scope
from planwright.planning.done_steps import effects_done, is_done
from planwright.planning.estimate import Estimate, in_all, short_of
from planwright.planning.reads_first import unread
from planwright.planning.rules import Rules
from planwright.planning.step_gates import dropped
from planwright.planning.taint import Taint
from planwright.planning.verification import close_plan, examine, needs_approval
from planwright.records.budget_usage import Spent
from planwright.records.consent.gate import gate_id
from planwright.records.effects.effect_limits import effects_had
from planwright.records.effects.ledger import Ledger
from planwright.records.plans import PlanGate, Plans
from planwright.records.stores import Stores
from planwright.settings.approval import ApprovalSettings
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, AgentUpdate, Attempts, ModelRoute, Task, plan_of
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node

Outcome = Literal["ok", "reclassify", "replan", "reject"]
FROM_A_PERSON = frozenset(("rejected", "feedback"))


def verify(
    registry: Registry,
    stores: Stores,
    settings: Settings,
    call_context: CallContext,
    taint: Taint,
    rubrics: Rubrics,
) -> Node[AgentState, AgentUpdate]:
    """Check a plan, name its steps for good, and keep it, with its card, where gate and gateway look."""

    async def verify(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation, results = invocation_of(config), state.get("results", {})
        if by := invocation.cancelled_by:
            return {"status": "cancelled", "answer": f"Cancelled by {by}; {_nothing(results)} was run."}
        (plan, mended), attempts = close_plan(plan_of(state)), _attempts(state)
        spent, effects = await _spent(invocation, stores)
        earlier = await stores.plans.steps_of_run(invocation.run_id)
        done = await _done(plan, earlier, state, stores.ledger)
        rules = await rules_for(state, invocation, registry, call_context, taint, done)
        checked, findings, needed = await asyncio.to_thread(  # a preflight may read files
            examine, plan, rules, invocation.run_id, ended_for_good(state), spent, effects
        )
        findings += await _against(checked, done, earlier, stores, invocation, registry)
        outcome = outcome_of(findings, attempts, settings, all_spent=rules.all_spent(spent.calls))
        if outcome == "reject" and await _given_more(findings, needed, spent, effects, invocation):
            return await verify(state, config)
        data = {"plan_id": plan.plan_id, "outcome": outcome, "closed": mended}
        data["policy"] = call_context.policy.hash
        if outcome != "ok":
            _tell(findings, data, attempts, invocation)
            return _again(outcome, findings, plan_of(state), state)
        progress = await plan_progress(plan, checked, rules, state, invocation, stores)
        checked = progress.checked
        estimate = in_all(needed, spent)
        card = await with_step_origins(_card(progress, state, estimate, rules, rubrics), invocation, stores)
        card = await with_step_descriptions(card, rules.registry, rules.call_context)
        gate = await gate_of_plan(progress, state, stores.plans, settings.approval, done)
        reads = bool(gate) and not (invocation.context.dry_run or state.get("reading"))
        reading = reads and unread(checked, results)
        data |= {"order": order_added(card), "plan": card} | ({"reads_first": True} if reading else {})
        _tell([], data, attempts, invocation)
        update: AgentUpdate = {"plan": plan, "checked": checked, "gate_id": gate or "", "findings": []}
        update |= {"estimate": estimate, "draft": None, "reading": reading}
        if invocation.context.dry_run and not _only_asks(plan):
            return {**update, "status": "planned", "answer": "This is the plan; nothing was run."}
        to_ask = PlanGate(gate, gate_card(card, attempts, state["route"], settings)) if gate else None
        await stores.plans.record(invocation.lease, plan, checked, invocation.clock(), gate=to_ask)
        return update

    return verify


def _nothing(results: Mapping[str, StepResult]) -> str:
    return "nothing more" if results else "nothing"


def _card(
    progress: PlanProgress, state: AgentState, known: dict[str, JsonValue], rules: Rules, rubrics: Rubrics
) -> dict[str, JsonValue]:
    """Show a plan as a person is asked about it."""
    deep, checked = rules.settings.approval.depth == "plan_and_gates", progress.checked
    card = plan_card(progress, state.get("changes", []), estimate=known, with_gates=deep)
    card = with_criteria(card, checked, judged=rubrics.judged(state["route"]))
    card = with_phrases(card, checked, rules.registry)
    return with_outside(card, checked, rules.registry, rules.call_context)


def _tell(
    findings: Sequence[Finding], data: Mapping[str, object], attempts: Attempts, invocation: Invocation
) -> None:
    dumped = [finding.model_dump(mode="json") for finding in findings]
    invocation.emit("plan_verified", {**data, "findings": dumped}, str(attempts.revision))


def _only_asks(plan: Plan) -> bool:
    """Say whether a plan is a question to the user, which is asked in a rehearsal, too."""
    return not plan.work and plan.steps[-1].capability == "clarify"


async def rules_for(
    state: AgentState,
    invocation: Invocation,
    registry: Registry,
    call_context: CallContext,
    taint: Taint,
    done: Mapping[str, VerifiedStep],
) -> Rules:
    """Put together what the plan of a run is measured by."""
    requester = (invocation.context.tenant, invocation.profile.agent, invocation.words)
    allowed = await allowed_in_run(registry, call_context.chains, invocation.run_id, invocation.profile)
    fixed = _attempts(state).fixed
    names = state.get("shortlist", allowed.names)
    foreign = not fixed and await has_foreign_text(
        catalogue_scope(allowed, names), names, invocation, call_context
    )
    opening = foreign or bool(state.get("task", Task(task="")).memories) or await taint.of_plan(invocation)
    call_context = call_context.on_behalf_of(*requester, tainted=opening)
    settings, route = call_context.settings, state["route"]
    return Rules(allowed, settings, call_context, route, invocation.profile, fixed, done)


async def _done(
    plan: Plan, earlier: Sequence[VerifiedStep], state: AgentState, ledger: Ledger
) -> dict[str, VerifiedStep]:
    """Map the ids of the steps that were done before, by the record, to what was done.

    Those are the steps that a new plan was put behind, and each effect of this one: it stays where a step
    that it went on without is run again.
    """
    if not (uids := {*state.get("done", ()), *effects_done(plan, earlier, state.get("results", {}))}):
        return {}
    uids &= {r.uid for r in await ledger.settled_steps(state["run_id"]) if r.status == "completed"}
    done = {entry.step.id: entry for entry in earlier if entry.uid in uids}
    return {step.id: done[step.id] for step in plan.steps if is_done(step, done)}


async def gate_of_plan(
    progress: PlanProgress, state: AgentState, plans: Plans, approval: ApprovalSettings, done: Container[str]
) -> str | None:
    """Name the gate at which a person has to approve a plan; None where nobody has to.

    What is `done` or cannot begin, by the ids of its steps, asks nobody.
    """
    plan, checked, run_id = progress.plan, progress.checked, state["run_id"]
    new = [entry for entry in checked if entry.step.id not in done and entry.step.id not in progress.idle]
    asks = state.get("changes") or needs_approval(new, approval)
    if not plan.work or not (asks or await plans.was_asked_for(run_id, plan.plan_hash)):
        return None
    return gate_id(run_id, "plan", subject(plan, _attempts(state), checked))


async def _against(
    checked: Sequence[VerifiedStep],
    done: Container[str],
    earlier: Sequence[VerifiedStep],
    stores: Stores,
    invocation: Invocation,
    registry: Registry,
) -> list[Finding]:
    """Find what stands on record against steps: gates that were dropped, and effects in doubt."""
    new = [entry for entry in checked if entry.step.id not in done]
    doubted = await doubted_steps(new, stores.doubts, invocation.thread_id, registry)
    return [*dropped(new, earlier, registry), *doubted]


def _attempts(state: AgentState) -> Attempts:
    return state.get("attempts", Attempts())


def subject(plan: Plan, attempts: Attempts, checked: Sequence[VerifiedStep]) -> str:
    """Name what a plan's gate asks: the same plan again only after a person has edited or responded.

    So a plan that was rejected stays rejected, and one that an edit brings back is asked for anew; so is one
    whose capabilities, the policy, or the values that were read first, have changed.
    """
    pins = sha256(sorted({f"{entry.pin}{entry.known}" for entry in checked}))[:16]
    return f"{plan.plan_hash}:{attempts.edits + attempts.responses}:{pins}"


def outcome_of(
    findings: list[Finding], attempts: Attempts, settings: Settings, *, all_spent: bool
) -> Outcome:
    """Decide what follows from the findings, within the budgets for trying again.

    Nothing is tried again where the calls of the run are `all_spent`.
    """
    if not findings:
        return "ok"
    if all_spent or not attempts.replans_left(settings.planning.replan_budget):
        return "reject"
    unknown = any(finding.code == "unknown_capability" for finding in findings)
    if unknown and attempts.reclassifications < settings.planning.reclassify_budget:
        return "reclassify"
    return "replan"


def gate_card(
    card: dict[str, JsonValue], attempts: Attempts, route: ModelRoute, settings: Settings
) -> dict[str, JsonValue]:
    """Add to the card of a plan what decides which answers its gate takes: feedback needs a model."""
    left = 0 if route.embedded else attempts.replans_left(settings.planning.replan_budget)
    return {**card, "replans_left": left, **({"fixed": True} if attempts.fixed else {})}


async def _spent(invocation: Invocation, stores: Stores) -> tuple[Spent, int]:
    """Say what a run has used so far, and how many effects it has had."""
    used = await stores.budgets.spent_by(invocation.lease, invocation.clock())
    return used, await effects_had(invocation.run_id, stores.database)


async def _given_more(
    findings: Sequence[Finding], needed: Estimate, spent: Spent, effects: int, invocation: Invocation
) -> bool:
    """Say whether a person has given more of what a plan lacks, where it lacks nothing else."""
    if invocation.context.dry_run or any(finding.code != "budget_exceeded" for finding in findings):
        return False
    first, *_ = short_of(needed, spent, invocation.profile.limits, effects)
    return await invocation.goes_on_after(first)


def _again(outcome: Outcome, findings: list[Finding], plan: Plan, state: AgentState) -> AgentUpdate:
    """End the run, or ask for another plan: this one is shown, with all that was said before it and of it."""
    if outcome == "reject":
        lines = "\n".join(f"- {finding}" for finding in findings[:5])
        spent = any(finding.code == "budget_exceeded" for finding in findings)
        return {
            "status": "budget_exceeded" if spent else "refused",
            "findings": findings,
            "answer": f"The plan was refused:\n{lines}",
        }
    attempts = _attempts(state)
    tried = {"replans": attempts.replans + 1}
    if outcome == "reclassify":
        tried["reclassifications"] = attempts.reclassifications + 1
    before = [finding for finding in state.get("findings", []) if finding.code in FROM_A_PERSON]
    return {
        "findings": [*before, *_failures(state), *findings],
        "plan": None,
        "draft": plan,
        "reading": False,
        "attempts": attempts.model_copy(update=tried),
    }


def _failures(state: AgentState) -> list[Finding]:
    """Say once more what went wrong in the plan that was carried out, where that is why another is made."""
    verdict, results = state.get("verdict"), state.get("results", {})
    if verdict is None or verdict.verdict != "replan":
        return []
    scores = [score for score in verdict.step_scores if score.uid in results]
    return failures([results[score.uid] for score in scores], scores)
