"""What a fork keeps: the steps that were done and build on nothing that is done again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from langchain_core.messages import BaseMessage

from planwright.domain.errors import RunError
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.step_identity import step_uid
from planwright.records.forks import ForkSource


def kept_steps(
    checked: list[VerifiedStep], done: Mapping[str, StepResult], rerun: Collection[str]
) -> list[VerifiedStep]:
    """Choose the steps whose results hold: done, not to be run again, and so is all they need.

    A read that comes after a step with an effect, because both use a resource, does not hold when that step
    is run again: it would tell of what was there before.
    """
    again = {entry.uid for entry in checked if entry.uid in done and entry.step.id in rerun}
    effects = {entry.uid for entry in checked if entry.effect != "pure"}
    holds = [entry for entry in checked if entry.uid in done and entry.uid not in again]
    while True:
        uids = {entry.uid for entry in holds}
        retained = [
            entry for entry in holds if uids >= set(entry.needs) and not _stale(entry, again & effects)
        ]
        if len(retained) == len(holds):
            return retained
        again |= uids - {entry.uid for entry in retained}
        holds = retained


def _stale(checked: VerifiedStep, again: Collection[str]) -> bool:
    return checked.effect == "pure" and any(edge.uid in again for edge in checked.follows)


def carried_results(
    run_id: str, retained: list[VerifiedStep], source: ForkSource, source_run: str
) -> list[StepResult]:
    """Copy the results of kept steps, under the uids that verification will give them in a new run."""
    uids: dict[str, str] = {}
    results = []
    for entry in retained:
        uids[entry.uid] = step_uid(run_id, entry.step, tuple(uids[need] for need in entry.needs), {})
        result = source.results[entry.uid]
        since = result.kept_from or source_run
        results.append(result.model_copy(update={"uid": uids[entry.uid], "kept_from": since}))
    return results


def done_again(source: ForkSource, retained: list[VerifiedStep]) -> tuple[str, ...]:
    """Name the steps that were done and are not kept."""
    uids = {entry.uid for entry in retained}
    ended = {uid for uid, result in source.results.items() if result.status == "completed"}
    return tuple(entry.step.id for entry in source.checked if entry.uid in ended - uids)


def check_rerun(run_id: str, source: ForkSource, rerun: Collection[str]) -> None:
    """Raise RunError unless the plan has all steps that are to run again."""
    ids = [entry.step.id for entry in source.checked]
    if rerun and not ids:
        raise RunError(
            f"run {run_id} has no plan there: its request begins anew, and nothing is kept",
            "fork it without --rerun",
        )
    if unknown := [id_ for id_ in rerun if id_ not in ids]:
        raise RunError(f"the plan has no step {', '.join(unknown)}", f"its steps: {', '.join(ids)}")


def check_certain(
    run_id: str, source: ForkSource, retained: list[VerifiedStep], rerun: Collection[str]
) -> None:
    """Raise RunError for steps that may have happened and would run again without being named."""
    calls = source.uncertain - {entry.uid for entry in source.checked}  # made by a model, or in a chain
    doubtful = [
        entry.step.id
        for entry in source.checked
        if entry not in retained and entry.step.id not in rerun
        if entry.uid in source.uncertain or ((entry.step.agentic or entry.chain) and calls)
    ]
    if doubtful:
        raise RunError(
            f"nobody knows whether step {', '.join(doubtful)} of run {run_id} happened",
            f"look for it first; to do it again: {' '.join(f'--rerun {id_}' for id_ in doubtful)}",
        )


def check_undone(run_id: str, source: ForkSource, rerun: Collection[str]) -> None:
    """Raise RunError for steps that a person has had undone, and that would run again without being named."""
    if undone := [e.step.id for e in source.checked if e.uid in source.undone and e.step.id not in rerun]:
        raise RunError(
            f"step {', '.join(undone)} of run {run_id} was undone, or may have been: it is not kept",
            f"to do it again: {' '.join(f'--rerun {id_}' for id_ in undone)}",
        )


def up_to_request(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Leave out what came after the newest message of the user's."""
    last = max((n for n, message in enumerate(messages) if message.type == "human"), default=-1)
    return messages[: last + 1]
