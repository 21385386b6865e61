"""What a person sees of a run that the critic did not accept: plan, outputs, verdict, and the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planwright.approvals.card import doubt_list
from planwright.approvals.cards import Card
from planwright.critic.ruling import why
from planwright.domain.doubt import NOBODY_KNOWS, Doubt
from planwright.domain.errors import EffectInDoubt
from planwright.domain.hashing import json_text
from planwright.domain.results import RunVerdict, StepResult, StepScore
from planwright.domain.risk import highest_risk
from planwright.domain.verified_step import VerifiedStep

PREVIEW = 300
"""Letters of an output that the card shows."""


@dataclass(frozen=True)
class JudgedPlan:
    """A plan that has run, and what the critic rules."""

    goal: str
    """Goal of the plan, in words."""
    checked: list[VerifiedStep]
    """Its steps as verified."""
    results: Mapping[str, StepResult]
    """Results of its steps, by uid."""
    verdict: RunVerdict
    """What the critic rules, and why."""


def escalation_card(
    judged: JudgedPlan, replans_left: int, doubts: Sequence[Doubt] = (), undo: Sequence[str] = ()
) -> Card:
    """Show what was not accepted and why, what became of every step, and what each answer would do.

    `approve` runs again what failed. Where nothing failed and a step is only not accepted, it is accepted as
    it is; not where policy or safety fail. `undo` names the effects that could be undone afterwards.
    """
    goal, checked, results, verdict = judged.goal, judged.checked, judged.results, judged.verdict
    scores = {score.step_id: score for score in verdict.step_scores}
    open_ = not_accepted(checked, results, scores)
    again = any(result.status == "failed" for _, result in open_)
    floor = not again and any(score.floor_broken for score in scores.values())
    doubtful = [entry.step.id for entry, result in open_ if result.code == EffectInDoubt.code]
    in_doubt = doubtful if doubts else []  # each of their effects says why by itself
    args: Card = {
        entry.step.id: _why(result, scores.get(entry.step.id))
        for entry, result in open_
        if entry.step.id not in in_doubt
    }
    answers = _answers(doubts, again=again, floor=floor, respond=replans_left > 0)
    return {
        "goal": goal,
        "capability": "escalation",
        "step_id": ", ".join(entry.step.id for entry, _ in open_),
        "description": f"{goal}. {answers} Reject: {_ending(verdict.run_id, undo)}",
        "args": args,
        "steps": [_step(entry, results.get(entry.uid), scores.get(entry.step.id)) for entry in checked],
        **doubt_list(doubts, doubtful or [doubt.step_id for doubt in doubts]),
        "approve": "again" if again or doubts else "" if floor else "accept",
        "undo": list(undo),
        "replans_left": replans_left,
        "reason": NOBODY_KNOWS if doubts and not args else verdict.reason,
        "verdict": verdict.verdict,
        "not_judged": list(verdict.not_judged),
        "risk": highest_risk(*(entry.risk for entry, _ in open_)),
        "mode": "destructive",
        "effect": "blind" if doubts else "idempotent",
    }


def not_accepted(
    checked: Sequence[VerifiedStep], results: Mapping[str, StepResult], scores: Mapping[str, StepScore]
) -> list[tuple[VerifiedStep, StepResult]]:
    """List the steps that failed, and those that ended and are not accepted."""
    pairs = [(entry, results[entry.uid]) for entry in checked if entry.uid in results]
    refused = {id_ for id_, score in scores.items() if score.verdict != "ok"}
    return [
        (entry, result)
        for entry, result in pairs
        if result.status == "failed" or (result.status == "completed" and entry.step.id in refused)
    ]


def _why(result: StepResult, score: StepScore | None) -> str:
    if result.status == "failed" or score is None:
        return f"{result.code}: {result.error}"
    return why(result, score)


def _step(entry: VerifiedStep, result: StepResult | None, score: StepScore | None) -> Card:
    """Show one step: what it was to do, what came of it, and what the critic noticed."""
    row: Card = {
        "id": entry.step.id,
        "capability": entry.step.shown_name,
        "params": entry.step.params,
        "risk": entry.risk,
        "mode": entry.mode,
        "status": _status(result),
    }
    if row["status"] == EffectInDoubt.code:
        return row
    if result is not None and result.status == "completed":
        row["output"] = "a large one, on record" if result.blob else _preview(json_text(result.output))
    return {**row, **({"findings": list(score.findings)} if score and score.findings else {})}


def _status(result: StepResult | None) -> str:
    if result is None:
        return "open"
    return EffectInDoubt.code if result.code == EffectInDoubt.code else result.status


def _preview(text: str) -> str:
    return text if len(text) <= PREVIEW else f"{text[: PREVIEW - 1]}…"


def _answers(doubts: Sequence[Doubt], *, again: bool, floor: bool, respond: bool) -> str:
    """Say what an approval and words would do."""
    if len(doubts) > 1:
        return "Respond: say of each effect in doubt whether it happened."
    if doubts:
        happened = "Respond: it happened, and your words are its result."
        return f"Approve: it did not happen, run it again. {happened}"
    approve = "Approve: run again what failed." if again else "Approve: accept it as it is."
    choices = [] if floor else [approve]
    return " ".join([*choices, "Respond: say what to plan instead."] if respond else choices)


def _ending(run_id: str, undo: Sequence[str]) -> str:
    if not undo:
        return "leave it and end."
    return f"leave it and end; `planwright undo {run_id}` can then undo {', '.join(undo)}."
