"""Reads of a plan run before a person is asked about it: its card shows the values that its effects have.

A step is read first where it is a read that asks nobody, and all that it waits for is read first, too. What a
call then has for arguments is known: it is judged by them, shown with them, and approved with them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from planwright.capabilities.gateway.read_files import passes_unknown_file
from planwright.capabilities.registry import Registry
from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import sha256
from planwright.domain.references import NothingFound, PlanEnded
from planwright.domain.results import StepResult
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.conditions import barred
from planwright.planning.empty_results import step_arguments
from planwright.planning.rules import Rules
from planwright.planning.verification import judge_call
from planwright.planning.write_conflicts import before
from planwright.presentation.brought import brought_text

LONGEST = 120


def with_reads_first(
    checked: Sequence[VerifiedStep],
    rules: Rules,
    results: Mapping[str, StepResult],
    scope: Mapping[str, JsonValue],
    done: Collection[str],
) -> list[VerifiedStep]:
    """Mark the steps that are read first, and judge those anew whose arguments are known by them.

    `checked` is in the order of dependencies; `scope` has what references may name, as far as it is there;
    `done` are uids of steps that earlier plans have done.
    """
    first: set[str] = set()
    for entry in checked:
        if _only_reads(entry) and first.issuperset(uid for uid in before(entry) if uid not in done):
            first.add(entry.uid)
    read = {uid for uid in (*first, *done) if uid in results and results[uid].status == "completed"}
    marked = [entry.model_copy(update={"read_first": entry.uid in first}) for entry in checked]
    return [entry if entry.uid in results else _known(entry, rules, scope, read) for entry in marked]


def _only_reads(entry: VerifiedStep) -> bool:
    """Say whether a step changes nothing and is asked about by nobody, by policy, plan and decisions."""
    asks = entry.asks or entry.gated or entry.gates or entry.decisions
    return entry.effect == "pure" and not asks and entry.chain is None and entry.mode != "delegated"


def _known(
    entry: VerifiedStep, rules: Rules, scope: Mapping[str, JsonValue], read: Collection[str]
) -> VerifiedStep:
    """Judge a call by its arguments, where all that they refer to has been read."""
    step, capability = entry.step, rules.registry.get(entry.step.capability or "")
    if capability is None or step.literal or not step.references or entry.chain:
        return entry
    if not set(entry.needs) <= set(read) or passes_unknown_file(capability, step.params, rules.call_context):
        return entry
    try:
        params = step_arguments(step, scope, capability)
    except CapabilityRejected:  # it leads nowhere, or nothing was found: the step says so when it is its turn
        return entry
    context = replace(rules.call_context, tainted=entry.tainted, decided=entry.decisions)
    filled = step.model_copy(update={"params": params})
    judged = judge_call(filled, rules.registry, context, rules.settings.approval, known=True)
    return entry.model_copy(update={**judged, "known": sha256(params)})


def cannot_begin(
    checked: Sequence[VerifiedStep],
    results: Mapping[str, StepResult],
    scope: Mapping[str, JsonValue],
    registry: Registry,
    request: str,
) -> set[str]:
    """Name the steps, by uid, that what was read leaves nothing for: nobody is asked about them.

    They need what failed or was not there, by their cascade or a reference, or their condition does not
    hold; `checked` is in the order of dependencies.
    """
    missing = {uid for uid, result in results.items() if result.status != "completed"}
    ids = {entry.step.id: entry.uid for entry in checked}
    open_ = [entry for entry in checked if entry.uid not in results]
    for entry in open_:
        step, lost = entry.step, missing.intersection(entry.needs)
        refers = any(ids.get(id_) in missing for id_ in (*step.references, *step.conditions))
        if refers or (lost and (entry.cascade == "skip" or len(lost) == len(set(entry.needs)))):
            missing.add(entry.uid)
            continue
        if _is_barred(entry, scope, request):
            missing.add(entry.uid)
            continue
        try:
            step_arguments(step, scope, registry.get(step.capability or ""))
        except PlanEnded:
            return {entry.uid for entry in open_}
        except CapabilityRejected as error:
            if isinstance(error, NothingFound) or results.keys() >= set(entry.needs):
                missing.add(entry.uid)
    return missing - results.keys()


def _is_barred(entry: VerifiedStep, scope: Mapping[str, JsonValue], request: str) -> bool:
    """Say whether the condition of a step does not hold, where what was read tells that."""
    outputs, reads = scope["steps"], entry.step.conditions
    if not reads or not isinstance(outputs, dict) or not outputs.keys() >= set(reads):
        return False
    return barred(entry, outputs, request) is not None


def brought_first(
    checked: Sequence[VerifiedStep], results: Mapping[str, StepResult], scope: Mapping[str, JsonValue]
) -> dict[str, str]:
    """Say on a line each, by the ids of the steps, what came of those that were read first."""
    outputs = scope["steps"]
    texts: dict[str, str] = {}
    for entry in checked:
        if not entry.read_first or entry.uid not in results or not isinstance(outputs, dict):
            continue
        result, output = results[entry.uid], outputs.get(entry.step.id)
        why = result.error if result.status == "skipped" else f"{result.status}: {result.error}"
        text = brought_text(output["output"], entry.step.params) if isinstance(output, dict) else why
        texts[entry.step.id] = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return texts


def unread(checked: Sequence[VerifiedStep], results: Mapping[str, StepResult]) -> bool:
    """Say whether a plan has a step that is read first and has not ended."""
    return any(entry.read_first and entry.uid not in results for entry in checked)
