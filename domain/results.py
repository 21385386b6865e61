"""What a step, a score and a run end with, and what the critic makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planwright.domain.envelope import LaneEnvelope
from planwright.domain.errors import EffectInDoubt, RunError

MICRO_CENTS_PER_DOLLAR = 100_000_000
"""Costs are counted in micro-cents, so that nothing is lost to rounding."""
StepStatus = Literal["completed", "failed", "skipped", "rejected"]
Ruling = Literal["accept", "retry", "replan", "escalate"]
StepRuling = Literal["ok", "retry", "replan", "escalate"]
Evaluator = Literal["policy", "utility", "safety", "latency", "cost"]
Grade = Literal["pass", "warn", "fail"]
FLOORS: tuple[Evaluator, ...] = ("policy", "safety")
RunStatus = Literal[
    "queued",
    "running",
    "waiting",
    "paused",
    "needs_input",
    "planned",
    "completed",
    "completed_with_skips",
    "failed",
    "refused",
    "rejected",
    "expired",
    "escalated",
    "budget_exceeded",
    "timeout",
    "cancelled",
]
"""How a run ends, but for the first four.

`queued`: a worker takes it up. `paused`: it goes on when what it waits for is back, or a person says so.
`needs_input`: it has ended with questions, which the next message answers.
"""
TERMINAL: frozenset[RunStatus] = frozenset(
    ("planned", "needs_input", "completed", "completed_with_skips", "failed", "refused")
    + ("rejected", "expired", "escalated", "budget_exceeded", "timeout", "cancelled")
)
NEXT: Mapping[RunStatus, frozenset[RunStatus]] = {
    "queued": frozenset(("running", "paused", "cancelled", "expired")),
    "running": TERMINAL | frozenset[RunStatus](("waiting", "paused", "queued")),
    "waiting": frozenset(("running", "rejected", "expired", "cancelled")),
    "paused": frozenset(("running", "queued", "cancelled", "expired")),
    "budget_exceeded": frozenset(("running", "queued", "cancelled", "expired")),
}
"""The states of a run that may come after each: those of a durable session.

`running` is in progress, `waiting` stands at a gate. None comes after one that ends a run; one that a limit
has put down is `budget_exceeded` and has not ended.
"""


class StepResult(BaseModel):
    """How one step ended. A large output lies in the blob store, named by its hash.

    `kept_from` names the run that did it, where a fork took the result over; `part` the call at which a
    chain stopped, by uid. `envelope` is what the lane of an agent handed over, by which it is judged.
    """

    model_config = ConfigDict(frozen=True)
    uid: str
    """Uid of the step in its run."""
    step_id: str
    """Id of the step in its plan, as people read it."""
    capability: str
    """Name of the capability that was called; `agent` where a model did the step."""
    status: StepStatus
    """How the step ended."""
    output: JsonValue = None
    """What it brought; None where it brought nothing, or where it lies in `blob`."""
    blob: str | None = None
    """Hash of the whole output in the blob store; None where `output` has all of it."""
    code: str = ""
    """What kind of failure it was, such as `dependency_failed`; "" for success."""
    error: str = ""
    """What went wrong, in words; "" for success."""
    instead_of: str = ""
    """Name of the planned capability that another one took the place of; "" where none did."""
    attempts: int = 1
    """How often it was tried, the first time included."""
    missing: tuple[str, ...] = ()
    """Ids of the steps that it needed and that brought nothing."""
    seconds: float = 0.0
    """How long the work on it took, in seconds; 0 where nothing was called."""
    kept_from: str = ""
    """Id of the run that did it, where an earlier result or effect counts; "" where this call was made."""
    note: str = ""
    """What is odd about what its call returned, in words; "" for nothing."""
    part: str = ""
    """Uid of the call at which a chain stopped; "" where it did not stop."""
    envelope: LaneEnvelope | None = None
    """What the lane of an agent handed over; None for steps that no model does."""
    args: dict[str, JsonValue] | None = Field(
        None, description="What a read was given, where its arguments came out of earlier results."
    )
    args_blob: str | None = Field(None, description="The same in the blob store, where it is large.")


class Evaluation(BaseModel):
    """What one of the five evaluators says of a step."""

    model_config = ConfigDict(frozen=True)
    evaluator: Evaluator
    """Which of the five says it."""
    mark: float = Field(ge=0, le=1, description="From 0, the worst, to 1.")
    grade: Grade = Field(description="A `fail` of policy or safety is never accepted.")
    findings: tuple[str, ...] = Field((), description="What it noticed, in words.")


class RubricAnswer(BaseModel):
    """What the model of the role critic says of a criterion in words; as recorded, it decides a replay."""

    model_config = ConfigDict(frozen=True)
    holds: bool = Field(description="Whether the output meets the criterion.")
    reason: str = Field("", description="Why, in the words of the model; at most 500 characters.")


class StepScore(BaseModel):
    """The critic's marks for one step, each from 0 to 1; policy and safety are floors."""

    model_config = ConfigDict(frozen=True)
    step_id: str
    """Id of the step in its plan."""
    policy: float
    """Mark for keeping to the rules, 0 to 1; a failure is a floor."""
    utility: float
    """Mark for what it brought, measured by its criterion, 0 to 1."""
    safety: float
    """Mark for what it changed and on whose word, 0 to 1; a failure is a floor."""
    latency: float
    """Mark for time: the share left of what it may take, 0 to 1."""
    cost: float
    """Mark for attempts and calls that came to nothing, 0 to 1."""
    findings: tuple[str, ...] = ()
    """What all evaluators noticed, in words."""
    uid: str = Field("", description="The step on record.")
    evaluations: tuple[Evaluation, ...] = Field((), description="The five evaluators, one by one.")
    verdict: StepRuling = Field("ok", description="What the critic rules over the step alone.")
    not_judged: str = Field("", description="Its criterion in words, where no model has judged it.")
    rubric: RubricAnswer | None = Field(None, description="What a model said of its criterion in words.")

    @property
    def floor_broken(self) -> bool:
        """Whether policy or safety fail, so that nobody may accept the step as it is."""
        return any(mark.grade == "fail" for mark in self.evaluations if mark.evaluator in FLOORS)


class RunVerdict(BaseModel):
    """The critic's ruling over a run, with the reason in words."""

    model_config = ConfigDict(frozen=True)
    run_id: str
    """Id of the run that is ruled over."""
    plan_id: str
    """Id of the plan that ran."""
    verdict: Ruling
    """What follows: the run is accepted, steps run again, another plan is asked for, or a person is."""
    reason: str = ""
    """Why, in words."""
    step_scores: tuple[StepScore, ...] = ()
    """The score of every step, in the order of the plan."""
    replan_attempts: int = 0
    """How often the run had planned again before this verdict."""
    retry_attempts: int = Field(0, description="How often the critic had a step run again before this.")
    inputs_hash: str = Field("", description="The hash of all records that the verdict follows from.")
    decided_by: str = Field("", description="The person who accepted what the critic did not; else empty.")
    evaluators: str = Field("", description="The number of the rules by which it was made.")

    @property
    def not_judged(self) -> tuple[str, ...]:
        """The ids of steps whose criterion in words nobody judged."""
        return tuple(score.step_id for score in self.step_scores if score.not_judged)


class Finding(BaseModel):
    """One thing verification or execution found wrong: a code, the step, and a fix."""

    model_config = ConfigDict(frozen=True)
    code: str
    """What kind of finding it is, such as `unknown_capability` or `budget_exceeded`."""
    step_id: str = ""
    """Id of the step that it is about; "" for the plan as a whole."""
    message: str
    """What is wrong, in words."""
    fix: str = ""
    """What to do about it, in words; "" where nothing is known."""

    def __str__(self) -> str:
        where = f" [{self.step_id}]" if self.step_id else ""
        return f"{self.code}{where}: {self.message}" + (f" ({self.fix})" if self.fix else "")


def answer_id(run_id: str) -> str:
    """Name the message with which a run ends on its thread."""
    return f"answer_{run_id}"


def format_end(status: str, error: str, code: str = "") -> str:
    """Say how a step ended that is not complete, without saying it twice: `rejected by ada: not today`.

    Of one in doubt no more is said: a person is asked about it beside that.
    """
    if code == EffectInDoubt.code:
        return "in doubt"
    return error if error.startswith(status) else f"{status}: {error}" if error else status


def check_step(run_id: str, before: RunStatus, after: RunStatus) -> None:
    """Raise RunError where a run may not become what it is to become."""
    if after != before and after not in NEXT.get(before, frozenset()):
        raise RunError(
            f"run {run_id} is {before}, and nothing that is {before} becomes {after}",
            f"see how it stands: planwright show {run_id}",
        )
