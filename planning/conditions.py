"""The condition of a step: CEL over what earlier steps have brought; it runs only where that is true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from planwright.capabilities.expression import Values, check_names, compiled
from planwright.capabilities.registry import Registry
from planwright.capabilities.schema_paths import NotThere, place_in, root_place, type_names
from planwright.domain.errors import CapabilityRejected
from planwright.domain.hashing import json_text
from planwright.domain.plan import Plan, PlanStep
from planwright.domain.references import NothingFound, PlanEnded, cel_path, cel_paths, walk
from planwright.domain.results import StepResult
from planwright.domain.step_ends import bare_result, failed
from planwright.domain.verified_step import VerifiedStep
from planwright.planning.reference_rules import Flaw, outputs_of
from planwright.presentation.condition_text import condition_text
from planwright.presentation.step_sentence import reference_text

NAMES = frozenset(("steps",))
NOT_MET, BROKEN = "condition_not_met", "condition_failed"
LONGEST = 60
_EXAMPLE = "e.g. steps.s1.output.count > 0"


def condition_flaws(plan: Plan, step: PlanStep, registry: Registry) -> Iterator[Flaw]:
    """Find what is wrong with a condition, beside the order of the steps that it reads."""
    if not step.when:
        return
    if step.closing:
        yield "last words have no condition", "leave `when` out"
    try:
        check_names(compiled(step.when), NAMES)
    except ValueError as error:
        yield f"its condition {error}", _EXAMPLE
        return
    paths = cel_paths(step.when, "steps")
    if not step.conditions:
        yield "its condition reads no step", f"leave `when` out, or name one, {_EXAMPLE}"
    for path in paths:
        if len(path) < 3 or path[2] != "output":
            yield f"its condition says {'.'.join(path)}", f"write steps.<id>.output.<path>, {_EXAMPLE}"
    yield from _nowhere(plan, step, paths, registry)


def _nowhere(plan: Plan, step: PlanStep, paths: list[list[str]], registry: Registry) -> Iterator[Flaw]:
    """Find paths of a condition that lead nowhere, and one that is all of it and no boolean."""
    outputs = outputs_of(plan, registry)
    for path in paths:
        if len(path) < 3 or path[2] != "output" or path[1] not in outputs:
            continue
        try:
            read = place_in(root_place(outputs[path[1]]), path[3:])
        except NotThere as error:
            fix = f"it returns: {', '.join(error.names)}" if error.names else "read less of it"
            yield f"its condition leads nowhere: {path[1]} returns no {path[-1]!r}", fix
            continue
        names = type_names(read) if read and cel_path(step.when) == path else ""
        if names and "boolean" not in names:
            yield f"its condition is {names}, neither true nor false", f"compare it, {_EXAMPLE}"


def barred(checked: VerifiedStep, outputs: Mapping[str, JsonValue], request: str) -> StepResult | None:
    """End a step whose condition is not true; None where it may run.

    `outputs` is what the steps before have brought, `{"output": …}` by id. One whose condition is false is
    skipped. A condition that cannot be evaluated, or reads a step that brought nothing, holds for nobody:
    the step has failed.
    """
    step = checked.step
    if not step.when:
        return None
    if missing := [id_ for id_ in step.conditions if id_ not in outputs]:
        return _broken(checked, f"reads {', '.join(missing)}, which did not succeed")
    scope: dict[str, JsonValue] = {"steps": {id_: outputs[id_] for id_ in step.conditions}}
    try:
        holds, why = compiled(step.when).holds(Values(scope, request))
    except ValueError as error:
        holds, why = None, str(error)
    if holds is None:
        return _nothing(checked, scope) or _broken(checked, why)
    if holds:
        return None
    words = f"its condition does not hold: {condition_text(step.when)}{_seen(step.when, scope)}"
    return bare_result(checked, "skipped", code=NOT_MET, error=words)


def _nothing(checked: VerifiedStep, scope: Mapping[str, JsonValue]) -> StepResult | None:
    """Skip a step whose condition reads an item of a list that is empty: that is no failure."""
    for path in cel_paths(checked.step.when, "steps"):
        try:
            walk(path, scope)
        except NothingFound as nothing:
            ends = checked.step.on_empty == "end"
            return failed(checked, PlanEnded(nothing.cause) if ends else nothing)
        except CapabilityRejected:
            continue
    return None


def _broken(checked: VerifiedStep, why: str) -> StepResult:
    cause = f"its condition `{checked.step.when}` {why}, so it was not run"
    error = f"{cause}; mend the condition, or what {', '.join(checked.step.conditions)} brings"
    return bare_result(checked, "failed", code=BROKEN, error=error)


def _seen(source: str, scope: Mapping[str, JsonValue]) -> str:
    """Say what the values were that a condition reads, each in a few letters."""
    texts: dict[str, str] = {}
    for path in cel_paths(source, "steps"):
        try:
            text = json_text(walk(path, scope))
        except CapabilityRejected:  # one that `has` asks for
            text = "not there"
        texts[reference_text(path)] = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return "".join(f"; {words} is {text}" for words, text in texts.items())
