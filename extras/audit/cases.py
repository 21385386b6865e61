"""Regression cases: requests whose plan a person has approved, held against what is planned of them today.

Plans are compared by their outline: what is called, with which arguments, after what, and what is asked
about. Ids of steps, words of a goal and the order of steps that do not wait for each other do not count.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from planwright.capabilities.reserved_paths import CASES_FOLDER
from planwright.domain.errors import RunError, SetupError
from planwright.domain.hashing import canonical_json, same
from planwright.domain.plan import AGENT, Plan, PlanStep
from planwright.domain.plan_diff import needs_of
from planwright.domain.references import format_cel_paths, format_references
from planwright.domain.schedule import topological
from planwright.domain.verified_step import VerifiedStep
from planwright.records.history.run_outcomes import approved_plan
from planwright.store.private_files import write_private

Outcome = Literal["same", "other arguments", "other plan", "asks less", "no plan"]


class OutlinedStep(BaseModel):
    """One step, by names that follow from the plan alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    """`s1`, `s2` …, in an order that does not depend on the planner's ids."""
    capability: str
    """What is called; `agent` with the tools that a model may use, for a step that a model does."""
    params: dict[str, JsonValue]
    """Its arguments; references are spelled by these names."""
    after: tuple[str, ...]
    """All steps that it builds on, near and far."""
    asks: bool
    """Whether a person is asked about it."""


class Case(BaseModel):
    """A request, and the plan of it that a person has approved."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    request: str
    """What was asked for."""
    agent: str | None = None
    """Profile that it was planned by; None for none."""
    run_id: str = ""
    """Run that the case was made of."""
    plan: tuple[OutlinedStep, ...]
    """Outline of the plan as approved."""


def case_of(connection: sqlite3.Connection, run_id: str) -> Case:
    """Make a case of the last plan of a run that a person approved, as it was then edited.

    Raises RunError for a run without one.
    """
    row = approved_plan(connection, run_id)
    if row is None:
        raise RunError(
            f"nobody has approved a plan of run {run_id}", "add a run with an approved plan: planwright ls"
        )
    plan = Plan.model_validate_json(row["plan"])
    checked = [VerifiedStep.model_validate(entry) for entry in json.loads(row["checked"])]
    agent = json.loads(row["context"]).get("agent")
    return Case(request=row["request"], agent=agent, run_id=run_id, plan=outline(plan, checked))


def save_case(workspace: Path, name: str, case: Case) -> Path:
    """Write a case into the folder of the workspace. Raises SetupError for a name that is taken."""
    path = workspace / CASES_FOLDER / f"{name}.json"
    if path.exists():
        raise SetupError(f"there is a case {name} already", f"name it otherwise, or delete {path}")
    path.parent.mkdir(exist_ok=True)
    write_private(path, case.model_dump_json(indent=2) + "\n")
    return path


def load_cases(workspace: Path, names: Sequence[str] = ()) -> dict[str, Case]:
    """Read the cases of a workspace by name; all where none is named. Raises SetupError for a wrong one."""
    paths = {path.stem: path for path in sorted((workspace / CASES_FOLDER).glob("*.json"))}
    if unknown := [name for name in names if name not in paths]:
        raise SetupError(f"there is no case {unknown[0]}", f"there are: {', '.join(paths) or 'none'}")
    cases = {}
    for name in names or paths:
        try:
            cases[name] = Case.model_validate_json(paths[name].read_bytes())
        except (ValidationError, OSError) as error:
            raise SetupError(
                f"{paths[name]} is no case: {error}", "make it anew: planwright eval add"
            ) from error
    return cases


def outline(plan: Plan, checked: Sequence[VerifiedStep]) -> tuple[OutlinedStep, ...]:
    """Describe what a plan does, whatever its planner has called the steps."""
    steps = {step.id: step for step in plan.work}
    needs = needs_of(plan)
    asks = {entry.step.id: entry.asks or entry.gated for entry in checked}
    order = topological(needs)
    shapes: dict[str, str] = {}
    after: dict[str, set[str]] = {}
    for id_ in order:
        near = needs[id_]
        after[id_] = {*near, *(far for each in near for far in after[each])}
        shapes[id_] = canonical_json(
            [len(after[id_]), _called(steps[id_]), sorted(shapes[each] for each in near), _words(steps[id_])]
        )
    names = {id_: f"s{n}" for n, id_ in enumerate(sorted(order, key=lambda id_: shapes[id_]), 1)}
    outlined = [
        OutlinedStep(
            name=names[id_],
            capability=_called(step),
            params=_renamed(step, names),
            after=tuple(sorted(names[each] for each in after[id_])),
            asks=asks.get(id_, False),
        )
        for id_, step in steps.items()
    ]
    return tuple(sorted(outlined, key=lambda step: (len(step.name), step.name)))


def compare_plan(case: Case, plan: Sequence[OutlinedStep]) -> tuple[Outcome, str]:
    """Hold a plan of today against a case: the gravest difference, and where it is."""
    if [(step.capability, step.after) for step in case.plan] != [
        (step.capability, step.after) for step in plan
    ]:
        return "other plan", f"{_format(plan)}, not {_format(case.plan)}"
    pairs = list(zip(case.plan, plan, strict=True))
    for before, now in pairs:
        if before.asks and not now.asks:
            return "asks less", f"nobody is asked about {now.name} {now.capability} any more"
    for before, now in pairs:
        for name in sorted({*before.params, *now.params}):
            was, is_ = before.params.get(name), now.params.get(name)
            if not same(was, is_):
                return "other arguments", f"{now.name} {now.capability}: {name} is {is_!r}, not {was!r}"
    return "same", ""


def _called(step: PlanStep) -> str:
    return step.capability or f"{AGENT}: {', '.join(sorted(step.tool_hints))}"


def _words(step: PlanStep) -> JsonValue:
    """Take the arguments without the ids in their references, to tell steps of one shape apart."""
    return _renamed(step, {})


def _renamed(step: PlanStep, names: Mapping[str, str]) -> dict[str, JsonValue]:
    """Take the arguments of a step, its condition among them, with other ids in their references."""

    def renamed(path: Sequence[str]) -> str:
        rest = [names.get(path[1], "step"), *path[2:]] if path[0] == "steps" and len(path) > 1 else path[1:]
        return "{{" + ".".join([path[0], *rest]) + "}}"

    def rename(value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return format_references(value, renamed)
        if isinstance(value, list):
            return [rename(entry) for entry in value]
        return {key: rename(entry) for key, entry in value.items()} if isinstance(value, dict) else value

    only_if = {"only if": format_cel_paths(step.when, "steps", renamed)} if step.when else {}
    return {key: rename(value) for key, value in step.params.items()} | only_if


def _format(plan: Sequence[OutlinedStep]) -> str:
    return " → ".join(step.capability for step in plan) or "nothing is called"
