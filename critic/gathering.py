"""Gather the facts of a plan's steps from the records of its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planwright.critic.facts import StepFacts
from planwright.critic.ruling import why
from planwright.domain.envelope import EffectRecord
from planwright.domain.results import RubricAnswer, RunVerdict, StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.records.effects.work_records import RunWork

NOT_ACCEPTED = "criteria_not_met"


def retried(verdicts: Mapping[str, RunVerdict], settled: Mapping[str, StepResult]) -> dict[str, StepResult]:
    """Make failures of the completed steps that some verdicts have run again."""
    scores = [
        score for verdict in verdicts.values() if verdict.verdict == "retry" for score in verdict.step_scores
    ]
    pairs = [
        (score, settled[score.uid]) for score in scores if score.verdict == "retry" and score.uid in settled
    ]
    return {
        result.uid: result.model_copy(
            update={"status": "failed", "code": NOT_ACCEPTED, "error": why(result, score)}
        )
        for score, result in pairs
        if result.status == "completed"
    }


@dataclass(frozen=True)
class RunRecords:
    """What is on record of a run that a critic looks at."""

    settled: Mapping[str, StepResult]
    """How steps ended, by the uid of the step."""
    outputs: Mapping[str, JsonValue]
    """Whole outputs of the completed steps, by uid."""
    rubrics: Mapping[str, RubricAnswer | None]
    """What a model answered to criteria in words, by the uid of the step; None where none was asked."""
    work: RunWork
    """Effects and calls of the run."""
    verdicts: Mapping[str, RunVerdict]
    """What the critic ruled before, by the key of the scoring."""
    plan_id: str = ""
    """Id of the plan that is scored."""


def facts_of(checked: Sequence[VerifiedStep], records: RunRecords, limit_s: float) -> list[StepFacts]:
    """Put together what is known of each step; `limit_s` is how long one may take that says nothing of it."""
    settled, work = records.settled, records.work
    before = {
        score.uid
        for verdict in records.verdicts.values()
        for score in verdict.step_scores
        if verdict.plan_id != records.plan_id
    }
    acted = {step.uid for step in checked if any(effect.begun for effect in work.under(step.uid))}
    return [
        StepFacts(
            checked=step,
            result=settled[step.uid],
            output=records.outputs.get(step.uid),
            effects=work.under(step.uid) or _kept_effects(settled[step.uid]),
            limit_s=step.step.timeout_s or limit_s,
            rubric=records.rubrics.get(step.uid),
            retries=retries_of(step.step.id, records.verdicts),
            earlier=step.uid in before,
            built_on=bool(acted & needing(step.uid, checked)),
        )
        for step in checked
    ]


def retries_of(step_id: str, verdicts: Mapping[str, RunVerdict]) -> int:
    """Count how often the critic had a step run again."""
    rounds = [verdict for verdict in verdicts.values() if verdict.verdict == "retry"]
    return sum(
        score.verdict == "retry" and score.step_id == step_id
        for verdict in rounds
        for score in verdict.step_scores
    )


def needing(uid: str, checked: Sequence[VerifiedStep]) -> set[str]:
    """Name the steps that build on one, over any number of steps between; `checked` is in order of needs."""
    reached = {uid}
    for step in checked:
        if reached.intersection(step.needs):
            reached.add(step.uid)
    return reached - {uid}


def _kept_effects(result: StepResult) -> tuple[EffectRecord, ...]:
    return result.envelope.effects if result.kept_from and result.envelope else ()
