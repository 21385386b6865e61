"""score: the critic marks every step by what is on record, rules over the run, and says how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from langchain_core.runnables import RunnableConfig

from planwright.critic.evaluators import UNKNOWN
from planwright.critic.facts import StepFacts
from planwright.critic.gathering import retried
from planwright.critic.rubrics import Rubrics
from planwright.critic.ruling import Means, failures
from planwright.critic.verdict_inputs import VerdictInputs
from planwright.domain.errors import BudgetExceeded, CapabilityChanged, RunError
from planwright.domain.events import EventType
from planwright.domain.plan import Plan
from planwright.domain.results import RunVerdict, StepResult
from planwright.domain.shortage import Shortage
from planwright.domain.step_ends import CANCELLED
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.fact_reader import FactReader
from planwright.nodes.closing.escalation_gate import needs_person
from planwright.nodes.plan.plan_approval import asked_again
from planwright.records.queue.session_checkpoints import SessionCheckpoint, checkpoint_after
from planwright.records.stores import Stores
from planwright.records.verdicts import Ruled
from planwright.settings.settings import Settings
from planwright.state.agent_state import AgentState, AgentUpdate, Attempts, plan_of
from planwright.state.invocation import Invocation, invocation_of
from planwright.state.node import Node, ending


def score(stores: Stores, settings: Settings, rubrics: Rubrics) -> Node[AgentState, AgentUpdate]:
    """Score the steps of a plan and decide: accept, run steps again, plan again, or escalate."""
    reader = FactReader(stores, settings, rubrics)

    async def score(state: AgentState, config: RunnableConfig) -> AgentUpdate:
        invocation, plan, state = invocation_of(config), plan_of(state), _begun(state)
        attempts, checked, reading = state.get("attempts", Attempts()), state["checked"], state["reading"]
        settled = {r.uid: r for r in await stores.ledger.settled_steps(invocation.run_id)}
        if never := [entry for entry in checked if entry.uid not in settled]:
            return await _without_results(never, stores, invocation)
        verdicts = await stores.verdicts.of_run(invocation.run_id)
        settled |= retried(verdicts, settled)
        results, key = [settled[entry.uid] for entry in checked], round_of(plan, attempts, reading=reading)
        go_on: AgentUpdate = {"verdict": None, "results": settled}
        if reading and all(result.status == "completed" for result in results):
            return go_on
        _emit_end(invocation, plan, results, key, reading=reading)
        changed = [r.error for r in results if r.code == CapabilityChanged.code]
        in_doubt = any(r.code in UNKNOWN for r in results)  # a person is asked about it first
        if changed and not in_doubt and not invocation.cancelled_by:
            again = asked_again(attempts, changed if state["gate_id"] else [])
            return {**go_on, "status": "running", "reading": False, **again}
        facts = await reader.of(state, settled, verdicts, invocation)
        row = f"{plan.revision}:{key}"
        verdict = verdicts.get(row)
        if verdict is None:
            inputs = VerdictInputs(
                run_id=invocation.run_id,
                plan_id=plan.plan_id,
                facts=tuple(facts),
                means=means_of(settings, state, cancelled=bool(invocation.cancelled_by)),
                replans=attempts.replans,
                retries=attempts.retries,
            )
            # Criteria are programs of others; the loop goes on meanwhile.
            verdict = await asyncio.to_thread(inputs.verdict)
            if reading and verdict.verdict not in ("retry", "replan"):
                return go_on  # what is left is shown as it stands, or is nothing to ask about
            checkpoint = await _checkpoint(stores, invocation, plan, verdict, results)
            ruled = Ruled(row, plan, verdict, inputs.as_json(), checkpoint)
            stores.verdicts.add(invocation.lease, ruled, invocation.clock())
            _emit_checkpoint(invocation, checkpoint)
        _emit_end(invocation, plan, results, key)
        _emit_verdict(invocation, verdict, key)
        error = await _calls_spent(stores, invocation, verdict)
        if error and await invocation.goes_on_after(error):
            error = None
        return _after(state, verdict, facts, settled, error, cancelled=bool(invocation.cancelled_by))

    return score


def _begun(state: AgentState) -> AgentState:
    """Narrow the state of a run whose reads alone were run to the steps of those."""
    if not state.get("reading"):
        return {**state, "reading": False}
    return {**state, "checked": [entry for entry in state["checked"] if entry.read_first]}


async def _without_results(
    never: Sequence[VerifiedStep], stores: Stores, invocation: Invocation
) -> AgentUpdate:
    """End a cancelled run some of whose steps have no result on record. Raises RunError for another run."""
    if invocation.cancelled_by:
        return {"verdict": None, "status": "cancelled", "answer": f"Cancelled by {invocation.cancelled_by}."}
    await stores.leases.check(invocation.lease)  # who has lost the run could not write them
    raise RunError(
        f"steps {', '.join(entry.step.id for entry in never)} have no result on record: the state was changed"
        " from outside",
        f"end the run: planwright cancel {invocation.thread_id}",
    )


async def _checkpoint(
    stores: Stores, invocation: Invocation, plan: Plan, verdict: RunVerdict, results: list[StepResult]
) -> SessionCheckpoint | None:
    """Sum up where a session stands after a verdict; None for a run that is no session."""
    if not invocation.in_session:
        return None
    spent = await stores.budgets.spent_by(invocation.lease, invocation.clock())
    return checkpoint_after(plan, verdict, results, dict(vars(spent)))


def round_of(plan: Plan, attempts: Attempts, *, reading: bool = False) -> str:
    """Name one scoring of a plan, or of what was read first of it: it may be run more than once."""
    again = f":{attempts.escalations}" if attempts.escalations else ""
    again += f":r{attempts.retries}" if attempts.retries else ""
    return f"{plan.plan_id}{again}" + (":reads" if reading else "")


def means_of(settings: Settings, state: AgentState, *, cancelled: bool) -> Means:
    """Say what the critic may still order: nothing once cancelled; the embedded planner has no other plan."""
    critic, attempts = settings.critic, state.get("attempts", Attempts())
    planned_once = cancelled or state["route"].embedded
    return Means(
        replans=0 if planned_once else attempts.replans_left(settings.planning.replan_budget),
        retries=0 if cancelled else max(critic.run_retries - attempts.retries, 0),
        step_retries=critic.step_retries,
        strict_from=None if critic.strictness == "off" else critic.strictness,
    )


def _after(
    state: AgentState,
    verdict: RunVerdict,
    facts: Sequence[StepFacts],
    settled: Mapping[str, StepResult],
    spent: BudgetExceeded | None,
    *,
    cancelled: bool,
) -> AgentUpdate:
    """Turn a verdict into what happens next."""
    attempts, results = state.get("attempts", Attempts()), [fact.result for fact in facts]
    update: AgentUpdate = {"verdict": verdict, "results": dict(settled), "reading": False}
    if spent is not None:
        return {**update, **ending("budget_exceeded", spent)}
    if verdict.verdict == "retry":
        tried = attempts.model_copy(update={"retries": attempts.retries + 1})
        refused = retried({"": verdict}, settled)
        update["results"] = {**settled, **refused}
        return {**update, "findings": [], "attempts": tried, "approved": False}
    if verdict.verdict == "replan":
        tried = attempts.model_copy(update={"replans": attempts.replans + 1})
        update |= {"findings": failures(results, verdict.step_scores), "attempts": tried}
        plan = plan_of(state)
        return {**update, "approved": False, "executed": plan, "draft": plan, "escalates": False}
    can_plan = not (state["route"].embedded or attempts.fixed)
    acted = (
        any(fact.acted for fact in facts) and not attempts.fixed
    )  # an undoing is begun again by its command
    asks = not cancelled and needs_person(state["checked"], settled, verdict, acted=acted, can_plan=can_plan)
    return {**update, "status": "running", "escalates": asks}


async def _calls_spent(stores: Stores, invocation: Invocation, verdict: RunVerdict) -> BudgetExceeded | None:
    """Say that there is no call left for another plan, or to run a step again."""
    limits = invocation.profile.limits
    limit, setting = limits.tool_calls, limits.setting("tool_calls")
    if verdict.verdict not in ("retry", "replan") or limit is None:
        return None
    if (await stores.budgets.spent_by(invocation.lease, invocation.clock())).calls < limit:
        return None
    return BudgetExceeded(
        setting,
        f"{setting} is reached ({limit}), and it has not worked: {verdict.reason}",
        f"raise {setting} in planwright.toml, then run again",
        Shortage("tool_calls", limit, 1),
    )


def _emit_end(
    invocation: Invocation, plan: Plan, results: list[StepResult], key: str, *, reading: bool = False
) -> None:
    """Tell once that a plan has ended, before it is scored: its steps have, whatever the critic says of them.

    While only its reads have run, it may go on.
    """
    if reading:
        return
    failed = [result.step_id for result in results if result.status == "failed"]
    data = {"plan_id": plan.plan_id, "goal": plan.goal, "total": len(results), "failed": failed}
    cancelled = any(result.code == CANCELLED for result in results)
    kind: EventType = "plan_cancelled" if cancelled else "plan_failed" if failed else "plan_complete"
    invocation.emit(kind, data, key)


def _emit_checkpoint(invocation: Invocation, checkpoint: SessionCheckpoint | None) -> None:
    if checkpoint is not None:
        fields = {"hash": checkpoint.hash, "verdict": checkpoint.verdict, "next_step": checkpoint.next_step}
        invocation.emit("checkpoint", fields, checkpoint.hash)


def _emit_verdict(invocation: Invocation, verdict: RunVerdict, key: str) -> None:
    for mark in verdict.step_scores:
        invocation.emit("step_scored", mark.model_dump(mode="json"), f"{key}:{mark.step_id}")
    event_fields = {"plan_id": verdict.plan_id, "verdict": verdict.verdict, "reason": verdict.reason}
    invocation.emit("verdict", {**event_fields, "not_judged": list(verdict.not_judged)}, key)
