"""score: the critic marks every step, rules over the run, and says how it ends (S4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from planwright.capabilities.expression import Values, compiled
from planwright.checkpoints.stores import Stores
from planwright.graph.doubt import UNDECIDED
from planwright.graph.errors import BudgetExceeded, CapabilityChanged, RunError
from planwright.graph.events import EventType
from planwright.graph.invocation import Invocation, invocation_of
from planwright.graph.plan import CheckedStep, Plan
from planwright.graph.results import Finding, Ruling, RunStatus, StepResult, StepScore, Verdict
from planwright.graph.settings import Settings
from planwright.graph.state import AgentState, Attempts
from planwright.nodes.escalation_gate import unsettled
from planwright.nodes.node import Node, Update, ending
from planwright.nodes.plan_approval import asked_again
from planwright.nodes.step_runner import full_output

UNKNOWN = ("in_doubt", UNDECIDED)
# `rejected` is a person's no; stores of before hold it for the failure of a tool, too, final as it was then.
FINAL_CODES = frozenset(
    ("rejected", "forbidden", "budget_exceeded", "timeout", "approved", "expired", *UNKNOWN)
)


def score(stores: Stores, settings: Settings) -> Node[AgentState]:
    """Score the steps of a plan and decide: accept, plan again, or escalate."""

    async def score(state: AgentState, config: RunnableConfig) -> Update:
        invocation, plan = invocation_of(config), state["plan"]
        assert plan is not None
        attempts, checked = state.get("attempts", Attempts()), state["checked"]
        settled = {r.uid: r for r in await stores.ledger.settled_steps(invocation.run_id)}
        if never := [entry.step.id for entry in checked if entry.uid not in settled]:
            raise RunError(
                f"steps {', '.join(never)} have no result on record: the state was changed from outside",
                f"end the run: planwright cancel {invocation.thread_id}",
            )
        results = [settled[entry.uid] for entry in checked]
        round_ = f":{attempts.escalations}" if attempts.escalations else ""
        _tell_end(invocation, plan, results, f"{plan.plan_id}{round_}")
        changed = [r.error for r in results if r.code == CapabilityChanged.code]
        if changed and not invocation.cancelled_by:
            again = asked_again(attempts, changed if state["gate_id"] else [])
            return {"verdict": None, "results": settled, "status": "running", **again}
        outputs = {r.uid: await full_output(stores, r) for r in results if r.status == "completed"}
        timeout_s = settings.execution.step_timeout_s
        pairs = list(zip(checked, results, strict=True))
        scores = await asyncio.to_thread(  # criteria are programs of others; the loop goes on meanwhile
            lambda: [score_step(entry, r, outputs.get(r.uid), timeout_s) for entry, r in pairs]
        )
        left = _replans_left(attempts, checked, settled, settings.planning.replan_budget)
        ruling, reason = rule(results, scores, 0 if invocation.cancelled_by else left)
        verdict = Verdict(
            run_id=invocation.run_id,
            plan_id=plan.plan_id,
            verdict=ruling,
            reason=reason,
            step_scores=tuple(scores),
            replan_attempts=attempts.replans,
        )
        _tell_verdict(invocation, verdict, f"{plan.plan_id}{round_}")
        if ruling == "replan" and (error := await _calls_spent(stores, invocation, reason)):
            return {"verdict": verdict, "results": settled, **ending("budget_exceeded", error)}
        if ruling == "replan":
            findings = failures(results, scores)
            tried = attempts.model_copy(update={"replans": attempts.replans + 1})
            again = {"findings": findings, "attempts": tried, "approved": False}
            return {"verdict": verdict, "results": settled, **again}
        escalates = ruling == "escalate" and not invocation.cancelled_by and bool(unsettled(checked, settled))
        return {"verdict": verdict, "results": settled, "status": "running", "escalates": escalates}

    return score


def _replans_left(
    attempts: Attempts, checked: list[CheckedStep], results: Mapping[str, StepResult], budget: int
) -> int:
    """Count the plans that may still be made; none before a person has looked at a grave step that failed."""
    return 0 if unsettled(checked, results) else attempts.replans_left(budget)


def score_step(checked: CheckedStep, result: StepResult, output: JsonValue, timeout_s: float) -> StepScore:
    """Mark one step; `success_criteria` in CEL are evaluated over its output."""
    if result.status != "completed":
        grave = result.status == "failed" and result.code in ("rejected", "forbidden", *UNKNOWN)
        floor = 0.0 if grave else 1.0
        note = f"{result.status}: {result.error}"
        return StepScore(
            step_id=result.step_id,
            policy=floor,
            utility=0.0,
            safety=floor,
            latency=1.0,
            cost=1.0,
            findings=(note,),
        )
    holds, note = criterion_holds(checked, output)
    limit = checked.step.timeout_s or timeout_s
    return StepScore(
        step_id=result.step_id,
        policy=1.0,
        utility=(1.0 if holds else 0.0) * (0.5 if result.missing else 1.0),
        safety=1.0,
        latency=round(max(0.0, 1 - result.seconds / limit), 3),
        cost=1.0 if result.attempts == 1 else round(1 / result.attempts, 3),
        findings=(note,) if note else (),
    )


def criterion_holds(checked: CheckedStep, output: JsonValue) -> tuple[bool, str]:
    """Evaluate a step's CEL criterion; one that cannot be evaluated does not hold."""
    criterion = checked.step.success_criteria
    if criterion is None or criterion.cel is None:
        return True, ""
    try:
        holds, why = compiled(criterion.cel).holds(Values({"output": output}))
    except ValueError as error:
        return False, f"criterion {criterion.cel[:200]!r} {error}"
    if holds is None:
        return False, f"criterion {criterion.cel!r} {why}"
    return (True, "") if holds else (False, f"criterion {criterion.cel!r} does not hold")


def rule(results: list[StepResult], scores: list[StepScore], replans_left: int) -> tuple[Ruling, str]:
    """Rule over the run, with the reason in words."""
    failed = [result for result in results if result.status == "failed"]
    unmet = [
        mark
        for mark, result in zip(scores, results, strict=True)
        if result.status == "completed" and not mark.utility
    ]
    if not failed and not unmet:
        left_out = [result.step_id for result in results if result.status != "completed"]
        return "accept", f"left out: {', '.join(left_out)}" if left_out else "every step succeeded"
    final = [result for result in failed if result.code in FINAL_CODES]
    what = "; ".join(
        [f"{r.step_id}: {r.error}" for r in failed] + [f"{m.step_id}: {m.findings[0]}" for m in unmet]
    )
    if final or replans_left <= 0:
        return "escalate", what
    return "replan", what


def failures(results: list[StepResult], scores: list[StepScore]) -> list[Finding]:
    """Tell the planner what went wrong."""
    failed = [
        Finding(code=r.code or "failed", step_id=r.step_id, message=r.error)
        for r in results
        if r.status == "failed"
    ]
    unmet = [
        Finding(code="criteria_not_met", step_id=mark.step_id, message=mark.findings[0])
        for mark, result in zip(scores, results, strict=True)
        if result.status == "completed" and not mark.utility and mark.findings
    ]
    return failed + unmet


def final_status(results: Mapping[str, StepResult], verdict: Verdict | None) -> RunStatus:
    """Name how a run ends, from its steps and the verdict."""
    statuses = [result.status for result in results.values()]
    if any(result.code == "budget_exceeded" for result in results.values()):
        return "budget_exceeded"
    if any(result.code == "timeout" for result in results.values()):
        return "timeout"
    if any(result.code in UNKNOWN for result in results.values()):
        return "escalated"
    if any(result.code == "cancelled" for result in results.values()):
        return "cancelled"
    if "failed" in statuses:
        return "failed"
    if verdict is not None and verdict.verdict != "accept":
        return "escalated"
    return "completed" if set(statuses) <= {"completed"} else "completed_with_skips"


async def _calls_spent(stores: Stores, invocation: Invocation, reason: str) -> BudgetExceeded | None:
    """Say that there is no call left for another plan."""
    limits = invocation.profile.limits
    limit, setting = limits.tool_calls, limits.setting("tool_calls")
    if limit is None or (await stores.budgets.spent(invocation.run_id, invocation.clock())).calls < limit:
        return None
    return BudgetExceeded(
        setting,
        f"{setting} is reached ({limit}), and it has not worked: {reason}",
        f"raise {setting} in planwright.toml, then run again",
    )


def _tell_end(invocation: Invocation, plan: Plan, results: list[StepResult], key: str) -> None:
    """Tell that a plan has ended, before it is scored: its steps have, whatever the critic says of them."""
    failed = [result.step_id for result in results if result.status == "failed"]
    data = {"plan_id": plan.plan_id, "goal": plan.goal, "total": len(results), "failed": failed}
    cancelled = any(result.code == "cancelled" for result in results)
    kind: EventType = "plan_cancelled" if cancelled else "plan_failed" if failed else "plan_complete"
    invocation.emit(kind, data, key)


def _tell_verdict(invocation: Invocation, verdict: Verdict, key: str) -> None:
    for mark in verdict.step_scores:
        invocation.emit("step_scored", mark.model_dump(mode="json"), f"{key}:{mark.step_id}")
    about = {"plan_id": verdict.plan_id, "verdict": verdict.verdict, "reason": verdict.reason}
    invocation.emit("verdict", about, key)
