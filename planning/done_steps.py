"""What a run has done stays in every later plan of it, by itself and under its ids.

A model refers to a done step and does not list it again. Where it does so nevertheless, under the same id and
with the same capability, that is the done step: an effect that happened is fixed by its step, whatever
parameters it is given now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import NamedTuple

from pydantic import JsonValue

from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import same
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.references import resolve
from planwright.domain.results import Finding, RunVerdict, StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.step_identity import same_work

TAKEN = "choose another id; what is done is referred to by its id and not listed again"


class ContinuedPlan(NamedTuple):
    """A new plan of a run that has done something, with what is done in front."""

    plan: Plan
    """The plan, with the done steps in front of the new ones."""
    done: tuple[str, ...] = ()
    """Uids of the done steps in it."""
    read_as: tuple[str, ...] = ()
    """What of the reply was read as a done step, a sentence each."""


def done_steps(
    recorded: Iterable[VerifiedStep], results: Mapping[str, StepResult], verdicts: Iterable[RunVerdict]
) -> dict[str, VerifiedStep]:
    """Map the ids of what a run has done to its steps; `recorded` are those of all its plans, oldest first.

    A read that the critic did not accept is none, unless something else that is done has used it.
    """
    refused = {s.uid for verdict in verdicts for s in verdict.step_scores if s.verdict != "ok"}
    ended = {entry.uid: entry for entry in recorded if _completed(entry, results)}
    uids = {uid for uid, entry in ended.items() if entry.effect != "pure" or uid not in refused}
    while more := {need for uid in uids for need in ended[uid].needs if need in ended} - uids:
        uids |= more
    return {entry.step.id: entry for uid, entry in ended.items() if uid in uids}


class DoneCall(NamedTuple):
    """What the call of a done step was made with, and what it brought."""

    params: Mapping[str, JsonValue]
    """Values of its parameters."""
    output: JsonValue
    """Its output; None where it brought nothing."""


def continued(plan: Plan, done: Mapping[str, VerifiedStep], calls: Mapping[str, DoneCall]) -> ContinuedPlan:
    """Put what is done in front of a new plan; `calls` tells of it by the ids of its steps.

    A read may be made anew under its id where nothing that is done has used it. The same effect with the same
    parameters under another id counts as done under that one, unless the plan refers to both.
    """
    left, steps, notes = dict(done), list[PlanStep](), list[str]()
    used = {need for entry in done.values() for need in entry.needs}
    for step in plan.steps:
        before = done.get(step.id)
        if before is not None and _is(step, before):
            notes.append(f"step {step.id!r} is done already, and is kept as it was")
        elif before is not None and step.capability == "respond":
            steps.append(step.model_copy(update={"id": _free("respond", plan, done)}))
        else:
            if before is not None and before.effect == "pure" and before.uid not in used:
                left.pop(step.id, None)
            steps.append(step)
    known = [(step, _resolved(step, calls)) for step in steps]
    for id_ in [id_ for id_, entry in left.items() if _listed_again(entry, known, calls, plan)]:
        del left[id_]
    in_front = [_within(entry.step, left) for entry in left.values()]
    whole = plan.model_copy(update={"steps": (*in_front, *steps)})
    return ContinuedPlan(whole, tuple(entry.uid for entry in left.values()), tuple(notes))


def lost_steps(
    recorded: Iterable[VerifiedStep], results: Mapping[str, StepResult], newest: Iterable[VerifiedStep]
) -> list[VerifiedStep]:
    """List the steps of earlier plans that brought nothing, and that the newest plan has no more."""
    left = {(entry.step.id, entry.step.capability) for entry in newest}
    ended = {entry.step.id: entry for entry in recorded if entry.uid in results}
    return [
        entry
        for entry in ended.values()
        if (entry.step.id, entry.step.capability) not in left and not _completed(entry, results)
    ]


def not_made_up_for(
    missing: Iterable[VerifiedStep],
    newest: Iterable[VerifiedStep],
    results: Mapping[str, StepResult],
    done: Collection[str],
) -> list[VerifiedStep]:
    """List the missing effects that no new effect of the newest plan stands for.

    Each new effect stands for one that is missing: of its own capability, else of its mode, as a mail for a
    post. What was `done` before, by uid, is not new.
    """
    effects = [entry for entry in newest if entry.effect != "pure" and entry.uid not in done]
    stands = [entry for entry in effects if _completed(entry, results)]
    open_ = [entry for entry in missing if entry.effect != "pure"]
    for alike in (_same_capability, _same_mode):
        for entry in list(open_):
            if other := next((new for new in stands if alike(new, entry)), None):
                stands.remove(other)
                open_.remove(entry)
    return open_


def _same_capability(new: VerifiedStep, other: VerifiedStep) -> bool:
    return new.step.capability == other.step.capability


def _same_mode(new: VerifiedStep, other: VerifiedStep) -> bool:
    return new.mode == other.mode


def is_done(step: PlanStep, done: Mapping[str, VerifiedStep]) -> bool:
    """Say whether a step of a plan is one that is done, and not another under its id."""
    return step.id in done and same_work(done[step.id].step, step)


def effects_done(plan: Plan, recorded: Iterable[VerifiedStep], results: Mapping[str, StepResult]) -> set[str]:
    """List the uids of the effects that a plan has had, unless a step that one needs is another now."""
    entries, steps = {entry.uid: entry for entry in recorded}, {step.id: step for step in plan.steps}

    @cache  # many steps may need the same ones
    def stands(uid: str) -> bool:
        entry, step = entries[uid], steps.get(entries[uid].step.id)
        needed = (need for need in entry.needs if need in entries)
        return step is not None and same_work(step, entry.step) and all(map(stands, needed))

    done = (entry for entry in entries.values() if entry.effect != "pure" and _completed(entry, results))
    return {entry.uid for entry in done if stands(entry.uid)}


def about_others(findings: Iterable[Finding], done: Collection[str]) -> list[Finding]:
    """Leave out what is found about steps that are done; what is wrong with them nobody can mend."""
    return [finding for finding in findings if finding.step_id not in done or finding.code == "duplicate_id"]


def _completed(entry: VerifiedStep, results: Mapping[str, StepResult]) -> bool:
    return entry.uid in results and results[entry.uid].status == "completed"


def _is(step: PlanStep, before: VerifiedStep) -> bool:
    """Say whether a step of a reply is one that is done: an effect by its capability, a read as a whole."""
    if step.capability != before.step.capability:
        return False
    return before.effect != "pure" or same_work(step, before.step)


def _listed_again(
    entry: VerifiedStep,
    steps: Iterable[tuple[PlanStep, JsonValue]],
    calls: Mapping[str, DoneCall],
    plan: Plan,
) -> bool:
    """Say whether a new step is the same effect under another id, so that the record counts for that one."""
    if entry.effect == "pure" or entry.step.agentic or entry.step.id not in calls:
        return False
    spellings = (_resolved(entry.step, calls), dict(calls[entry.step.id].params))  # as planned, as made
    again = any(
        step.id != entry.step.id
        and step.capability == entry.step.capability
        and any(same(known, params) for params in spellings)
        for step, known in steps
    )
    return again and not any(
        step.id == entry.step.id or entry.step.id in plan.dependencies(step) or entry.step.key in step.inputs
        for step in plan.steps
    )


def _resolved(step: PlanStep, calls: Mapping[str, DoneCall]) -> JsonValue:
    """Put into the parameters of a new step what is known of them by now."""
    scope: dict[str, JsonValue] = {"steps": {id_: {"output": known.output} for id_, known in calls.items()}}
    try:
        return resolve(dict(step.params), scope, later=("input",))
    except CapabilityRejected:  # a reference to what is not there yet
        return dict(step.params)


def _within(step: PlanStep, done: Mapping[str, VerifiedStep]) -> PlanStep:
    """Let a done step depend on nothing but what is done, too."""
    keys = {entry.step.key for entry in done.values()}
    return step.model_copy(
        update={
            "depends_on": tuple(id_ for id_ in step.depends_on if id_ in done),
            "inputs": tuple(key for key in step.inputs if key in keys),
        }
    )


def _free(name: str, plan: Plan, done: Mapping[str, VerifiedStep]) -> str:
    taken = {step.id for step in plan.steps} | done.keys()
    return next(
        free for n in range(len(taken) + 1) if (free := name if n == 0 else f"{name}_{n}") not in taken
    )
