"""What the critic rules: over each step, then over the run. Pure functions of facts, marks and budgets.

A step that has had an effect is never run again by the critic: a person decides, or another plan goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planwright.critic.evaluators import EVALUATORS, UNKNOWN
from planwright.critic.facts import StepFacts
from planwright.critic.lane_rules import FLAWS
from planwright.domain.results import Finding, Ruling, StepResult, StepRuling, StepScore
from planwright.domain.risk import Risk, at_least

GRAVE = frozenset(("delegated", "destructive"))  # modes of steps whose failure a person looks at first
# `rejected` is a person's no.
FINAL_CODES = frozenset(
    ("rejected", "forbidden", "budget_exceeded", "timeout", "approved", "expired", *UNKNOWN)
    + ("missing_evidence", "violates_decision_spec")
)
STOPPED = ("max_tool_iterations", "loop_guard")  # an agent that has not come to an end


@dataclass(frozen=True)
class Means:
    """What the critic may still order, and how strict it is.

    `strict_from` is the risk from which what nobody judged is not accepted; None where that always passes.
    """

    replans: int = 0
    """How often the planner may still be asked again."""
    retries: int = 0
    """How often steps may still be run again in this run."""
    step_retries: int = 1
    """How often one step may be run again."""
    strict_from: Risk | None = "Medium"
    """Lowest risk from which what nobody judged is not accepted; None where it always passes."""


def score_step(facts: StepFacts, means: Means) -> StepScore:
    """Mark one step by all evaluators, and rule over it."""
    evaluations = tuple(evaluate(facts) for evaluate in EVALUATORS)
    marks = {evaluation.evaluator: evaluation.mark for evaluation in evaluations}
    notes = dict.fromkeys(note for evaluation in evaluations for note in evaluation.findings)
    criterion = facts.checked.step.success_criteria
    open_ = facts.result.status == "completed" and facts.rubric is None
    score = StepScore(
        step_id=facts.result.step_id,
        **marks,
        findings=tuple(notes),
        uid=facts.result.uid,
        evaluations=evaluations,
        not_judged=criterion.rubric or "" if criterion and open_ else "",
        rubric=facts.rubric,
    )
    return score.model_copy(update={"verdict": rule_step(facts, score, means)})


def rule_step(facts: StepFacts, score: StepScore, means: Means) -> StepRuling:
    """Rule over one step: it is ok, is run again, needs another plan, or a person."""
    result = facts.result
    if result.status in ("skipped", "rejected"):
        return "ok"
    if facts.earlier and result.status == "completed":
        return "ok"  # the plan was made after what was said of it, and it is done for good
    if result.status == "failed":
        if result.code in FLAWS or (facts.checked.step.agentic and result.code in STOPPED):
            return _again(facts, means)
        final = result.code in FINAL_CODES or facts.checked.mode in GRAVE
        return "escalate" if final else _anew(means)
    if score.floor_broken:
        return "escalate"
    if unmet(score):
        return _again(facts, means)
    strict = means.strict_from is not None and at_least(facts.checked.risk, means.strict_from)
    return "escalate" if score.not_judged and strict else "ok"


def unmet(score: StepScore) -> bool:
    """Say whether a step did not bring what it was for."""
    return any(
        evaluation.evaluator == "utility" and evaluation.grade == "fail" for evaluation in score.evaluations
    )


def _again(facts: StepFacts, means: Means) -> StepRuling:
    """Run a step again that has changed nothing, within the budgets for that; else plan anew."""
    spent = facts.retries >= means.step_retries or means.retries <= 0
    return _anew(means) if facts.acted or facts.built_on or spent else "retry"


def _anew(means: Means) -> StepRuling:
    return "replan" if means.replans > 0 else "escalate"


def run_verdict(
    results: Sequence[StepResult], scores: Sequence[StepScore], *, planned_again: bool = False
) -> tuple[Ruling, str]:
    """Rule over the run, with the reason in words: the gravest verdict of its steps counts."""
    verdicts = {score.verdict for score in scores}
    if verdicts <= {"ok"}:
        left_out = [result.step_id for result in results if result.status != "completed"]
        not_judged = [score.step_id for score in scores if score.not_judged]
        remarks = [f"left out: {', '.join(left_out)}"] if left_out else []
        remarks += [f"not judged: {', '.join(not_judged)}"] if not_judged else []
        every = "every step of the last plan succeeded" if planned_again else "every step succeeded"
        return "accept", "; ".join(remarks) or every
    pairs = [(result, score) for result, score in zip(results, scores, strict=True) if score.verdict != "ok"]
    steps: dict[str, list[str]] = {}
    for result, score in pairs:
        steps.setdefault(why(result, score), []).append(result.step_id)
    reason = "; ".join(f"{', '.join(ids)}: {text}" for text, ids in steps.items())
    gravest: Ruling = "escalate" if "escalate" in verdicts else "replan" if "replan" in verdicts else "retry"
    return gravest, reason


def why(result: StepResult, score: StepScore) -> str:
    """Say why a step is not accepted."""
    if result.status == "failed":
        return result.error
    failed = (
        note for evaluation in score.evaluations if evaluation.grade == "fail" for note in evaluation.findings
    )
    return next(failed, f"nobody judged whether it is met: {score.not_judged[:200]}")


def failures(results: Sequence[StepResult], scores: Sequence[StepScore]) -> list[Finding]:
    """Tell the planner what went wrong."""
    pairs = list(zip(results, scores, strict=True))
    failed = [
        Finding(code=r.code or "failed", step_id=r.step_id, message=r.error)
        for r, _ in pairs
        if r.status == "failed"
    ]
    return failed + [
        Finding(code="criteria_not_met", step_id=r.step_id, message=why(r, score))
        for r, score in pairs
        if r.status == "completed" and score.verdict != "ok"
    ]
