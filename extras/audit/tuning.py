"""Tuning: what other settings of the critic, the planner and the lanes would have changed in past runs.

Nothing is run: each verdict on record is made again with one setting changed, and the first that differs is
held against how the run ended and what people said of it. Policy and safety are no setting: a step that
breaks them goes to a person under every candidate. A candidate that accepts what a person has rejected is
never proposed. Prompts are compared by `planwright eval run`: another prompt needs a model.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

from planwright.critic.ruling import Means
from planwright.critic.verdict_inputs import VerdictInputs
from planwright.domain.risk import RISKS
from planwright.extras.audit.replay import with_outputs
from planwright.records.history.run_outcomes import (
    ended_runs,
    escalation_answers,
    loop_turns,
    verdict_rows,
    was_undone,
)
from planwright.settings.settings import Settings
from planwright.store.blobs import Blobs

Surface = Literal[
    "planning.replan_budget",
    "critic.step_retries",
    "critic.run_retries",
    "critic.strictness",
    "execution.max_tool_iterations",
]
Value = int | str
CANDIDATES: Mapping[Surface, tuple[Value, ...]] = {
    "planning.replan_budget": (0, 1, 2, 3, 4),
    "critic.step_retries": (0, 1, 2, 3),
    "critic.run_retries": (0, 1, 2, 3, 5),
    "critic.strictness": (*RISKS, "off"),
    "execution.max_tool_iterations": (10, 20, 50, 100, 200),
}


@dataclass(frozen=True)
class Score:
    """How many past runs would have gone otherwise with a candidate."""

    spared: int = 0
    """A person was asked and approved, and would not be asked."""
    sooner: int = 0
    """The run failed or a person was asked, and would be asked sooner; or a lane would end sooner."""
    caught: int = 0
    """The run was accepted and undone later, and a person would be asked."""
    needless: int = 0
    """The run ended well by itself, and a person would be asked, or a lane would be cut off."""
    unsafe: int = 0
    """What a person rejected would be accepted."""
    unknown: int = 0
    """More would be tried; nobody knows what would come of it."""

    @property
    def gain(self) -> int:
        """What is better for how many runs, less what is worse; nothing gained where any is unsafe."""
        return -1 if self.unsafe else self.spared + self.sooner + self.caught - self.needless

    def __add__(self, other: Score) -> Score:
        return Score(
            **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)}
        )


@dataclass(frozen=True)
class PastRun:
    """One run that has ended, as far as a candidate could change it."""

    status: str
    """How it ended."""
    rounds: tuple[tuple[VerdictInputs, str], ...]
    """What each verdict followed from, and what it was."""
    answers: tuple[str, ...]
    """Status of each gate that asked about a failure."""
    undone: bool
    """Whether it was undone later."""
    turns: tuple[int, ...]
    """Turns of each of its loops, as its progress was told."""

    @property
    def good(self) -> bool:
        """Whether it was completed and nobody was asked about a failure."""
        return self.status == "completed" and not self.answers


def past_runs(connection: sqlite3.Connection, blobs: Blobs) -> Iterator[PastRun]:
    """Read the runs that have ended."""
    for run in reversed(ended_runs(connection)):
        run_id, rounds = run["run_id"], []
        for row in verdict_rows(connection, run_id):
            if row["facts"] is not None:
                inputs = with_outputs(VerdictInputs.model_validate_json(row["facts"]), blobs)
                rounds.append((inputs, str(json.loads(row["content"])["verdict"])))
        yield PastRun(
            run["status"],
            tuple(rounds),
            escalation_answers(connection, run_id),
            was_undone(connection, run_id),
            loop_turns(connection, run_id),
        )


def value_now(settings: Settings, surface: Surface) -> Value:
    """Read what a setting is now."""
    section, name = surface.split(".")
    value: Value = getattr(getattr(settings, section), name)
    return value


def score_of(runs: Sequence[PastRun], surface: Surface, value: Value) -> Score:
    """Add up what a candidate would have changed."""
    if surface == "execution.max_tool_iterations":
        return sum((_cut(run, int(value)) for run in runs), Score())
    return sum((_ruled_anew(run, surface, value) for run in runs), Score())


def best_of(runs: Sequence[PastRun], settings: Settings) -> dict[Surface, Value]:
    """Name the candidate of each setting that gains most; none where no candidate gains anything."""
    best: dict[Surface, Value] = {}
    for surface, values in CANDIDATES.items():
        gains = {value: score_of(runs, surface, value).gain for value in values}
        value = max(gains, key=lambda value: gains[value])
        if gains[value] > 0 and value != value_now(settings, surface):
            best[surface] = value
    return best


def _ruled_anew(run: PastRun, surface: Surface, value: Value) -> Score:
    """Compare the verdicts of one run up to the first that a candidate changes."""
    escalations = 0
    for inputs, was in run.rounds:
        now = inputs.model_copy(update={"means": _means(inputs, surface, value)}).verdict().verdict
        answer = run.answers[escalations] if was == "escalate" and escalations < len(run.answers) else ""
        escalations += was == "escalate"
        if now == was:
            continue
        if now == "accept":
            return Score(spared=1) if answer == "approved" else Score(unsafe=1)
        if now != "escalate":
            return Score(unknown=1)
        if was == "accept":
            return Score(caught=1) if run.undone else Score(needless=1)
        return Score(needless=1) if run.good else Score(sooner=1)
    return Score()


def _means(inputs: VerdictInputs, surface: Surface, value: Value) -> Means:
    """Say what the critic could still have ordered with another setting."""
    if surface == "critic.strictness":
        strict_from = next((risk for risk in RISKS if risk == value), None)
        return replace(inputs.means, strict_from=strict_from)
    if surface == "planning.replan_budget":
        return replace(inputs.means, replans=max(0, int(value) - inputs.replans))
    if surface == "critic.run_retries":
        return replace(inputs.means, retries=max(0, int(value) - inputs.retries))
    return replace(inputs.means, step_retries=int(value))


def _cut(run: PastRun, limit: int) -> Score:
    """Say whether a limit on the turns of a loop would have ended one of a run sooner."""
    if not any(turns > limit for turns in run.turns):
        return Score()
    return Score(needless=1) if run.good else Score(sooner=1)
