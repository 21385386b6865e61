"""What a run has done: under earlier plans, for the planner of the next one; of the newest, for its card."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planwright.approvals.card import PlanProgress
from planwright.critic.ruling import why
from planwright.domain.plan import Plan
from planwright.domain.results import RunVerdict, StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.execution.recorded_result import known_so_far, known_values
from planwright.execution.repeated_calls import not_done_again
from planwright.execution.step_accounts import StepAccount, describe_step, step_accounts
from planwright.planning.done_steps import DoneCall, done_steps
from planwright.planning.reads_first import brought_first, cannot_begin, with_reads_first
from planwright.planning.rules import Rules
from planwright.planning.verification import pinned_with_files
from planwright.records.stores import Stores
from planwright.state.agent_state import AgentState
from planwright.state.invocation import Invocation


@dataclass(frozen=True)
class SoFar:
    """What a run has done under its earlier plans."""

    done: Mapping[str, VerifiedStep]
    """Steps that are done, by id."""
    accounts: Sequence[StepAccount] = ()
    """What is on record of them, and of the steps that failed or were left out."""
    verdicts: Sequence[RunVerdict] = ()
    """What the critic has ruled."""

    @property
    def calls(self) -> dict[str, DoneCall]:
        """What the calls of the done steps were made with, and what they brought, by id."""
        done_uids = {entry.uid for entry in self.done.values()}
        return {
            account.entry.step.id: DoneCall(account.params, account.output)
            for account in self.accounts
            if account.entry.uid in done_uids
        }

    def context_parts(self, state: AgentState) -> dict[str, object]:
        """Tell a planner of it, and of its last plan."""
        before, done_uids = set(state.get("done", ())), {entry.uid for entry in self.done.values()}
        scores = (score for verdict in self.verdicts for score in verdict.step_scores)
        refused = {score.uid: score for score in scores if score.verdict != "ok"}
        done, failed = list[dict[str, JsonValue]](), dict[str, dict[str, JsonValue]]()
        for account in self.accounts:
            score, result = refused.get(account.entry.uid), account.result
            described = describe_step(
                account, why(result, score) if score and result.status == "completed" else ""
            )
            if account.entry.uid in done_uids:
                done.append(described)
            else:
                failed[account.entry.step.id] = described  # of several tries at a step the last
        ids = [id_ for id_, entry in self.done.items() if entry.uid in before]
        draft = as_steps(state.get("draft"), ids)
        return {"done": done, "failed": [*failed.values()], "draft": draft}


async def read_so_far(state: AgentState, stores: Stores) -> SoFar:
    """Read what the run has done, from its records."""
    if not (results := state.get("results", {})):
        return SoFar({})
    recorded = await stores.plans.steps_of_run(state["run_id"])
    verdicts = [*(await stores.verdicts.of_run(state["run_id"])).values()]
    done = done_steps(recorded, results, verdicts)
    done_uids = {entry.uid for entry in done.values()}
    latest = {entry.uid: entry for entry in recorded if entry.uid in done_uids or entry.step.id not in done}
    return SoFar(done, await step_accounts(latest.values(), results, stores, state["run_id"]), verdicts)


def as_steps(draft: Plan | None, done: Sequence[str]) -> dict[str, object]:
    """Spell the last plan as its planner did: without defaults, and without what was `done` by then."""
    if draft is None:
        return {}
    steps = tuple(step for step in draft.steps if step.id not in done)
    plan = draft.model_copy(update={"steps": steps})
    return plan.model_dump(mode="json", include={"goal", "steps", "cannot"}, exclude_defaults=True)


async def plan_progress(
    plan: Plan,
    checked: list[VerifiedStep],
    rules: Rules,
    state: AgentState,
    invocation: Invocation,
    stores: Stores,
) -> PlanProgress:
    """Mark what is read first, pin each step, keep or gate what was done before, and see how far it is."""
    results, registry = state.get("results", {}), rules.registry
    scope = await known_so_far(checked, results, invocation.request, stores)
    if rules.settings.approval.reads_first:
        checked = with_reads_first(checked, rules, results, scope, state.get("done", ()))
    checked, files = await asyncio.to_thread(pinned_with_files, checked, registry, rules.call_context)
    checked = await not_done_again(checked, results, stores, invocation.run_id, rules)
    looked = (checked, results, scope, registry, invocation.request)
    idle = await asyncio.to_thread(cannot_begin, *looked) if state.get("reading") else ()
    return PlanProgress(
        plan,
        checked,
        results,
        known_values(checked, results, scope, registry),
        files=files,
        request=invocation.request,
        words=invocation.words,
        brought=brought_first(checked, results, scope),
        idle=tuple(entry.step.id for entry in checked if entry.uid in idle),
    )


def ended_for_good(state: AgentState) -> Mapping[str, StepResult]:
    """List how steps ended, but for what failed as it was read first: not made again, it keeps its name."""
    results = state.get("results", {})
    first = state["checked"] if state.get("reading") else []
    failed = {
        entry.uid for entry in first if entry.uid in results and results[entry.uid].status != "completed"
    }
    return {uid: result for uid, result in results.items() if uid not in failed}
