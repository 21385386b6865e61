"""What a step, a score and a run end with, and what the critic makes of it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planwright.domain.envelope import LaneEnvelope

StepStatus = Literal["completed", "failed", "skipped", "rejected"]
Ruling = Literal["accept", "retry", "replan", "escalate"]
StepRuling = Literal["ok", "retry", "replan", "escalate"]
Evaluator = Literal["policy", "utility", "safety", "latency", "cost"]
Grade = Literal["pass", "warn", "fail"]
FLOORS: tuple[Evaluator, ...] = ("policy", "safety")
RunStatus = Literal[
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
"""How a run ends, but for the first three.

`paused`: it goes on when what it waits for is back. `needs_input`: it has ended with questions, which the
next message answers.
"""
TERMINAL: frozenset[RunStatus] = frozenset(
    ("planned", "needs_input", "completed", "completed_with_skips", "failed", "refused")
    + ("rejected", "expired", "escalated", "budget_exceeded", "timeout", "cancelled")
)


class StepResult(BaseModel):
    """How one step ended. A large output lies in the blob store, named by its hash.

    `kept_from` names the run that did it, where a fork took the result over; `part` the call at which a
    chain stopped, by uid. `envelope` is what the lane of an agent handed over, by which it is judged.
    """

    model_config = ConfigDict(frozen=True)
    uid: str
    step_id: str
    capability: str
    status: StepStatus
    output: JsonValue = None
    blob: str | None = None
    code: str = ""
    error: str = ""
    instead_of: str = ""
    attempts: int = 1
    missing: tuple[str, ...] = ()
    seconds: float = 0.0
    kept_from: str = ""
    part: str = ""
    envelope: LaneEnvelope | None = None
    args: dict[str, JsonValue] | None = Field(
        None, description="What a read was given, where its arguments came out of earlier results."
    )
    args_blob: str | None = Field(None, description="The same in the blob store, where it is large.")


class Evaluation(BaseModel):
    """What one of the five evaluators says of a step."""

    model_config = ConfigDict(frozen=True)
    evaluator: Evaluator
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
    policy: float
    utility: float
    safety: float
    latency: float
    cost: float
    findings: tuple[str, ...] = ()
    uid: str = Field("", description="The step on record; empty in scores of older versions.")
    evaluations: tuple[Evaluation, ...] = Field((), description="The five evaluators, one by one.")
    verdict: StepRuling = Field("ok", description="What the critic rules over the step alone.")
    not_judged: str = Field("", description="Its criterion in words, where no model has judged it.")
    rubric: RubricAnswer | None = Field(None, description="What a model said of its criterion in words.")

    @property
    def floor_broken(self) -> bool:
        """Whether policy or safety fail, so that nobody may accept the step as it is."""
        return any(one.grade == "fail" for one in self.evaluations if one.evaluator in FLOORS)


class Verdict(BaseModel):
    """The critic's ruling over a run, with the reason in words."""

    model_config = ConfigDict(frozen=True)
    run_id: str
    plan_id: str
    verdict: Ruling
    reason: str = ""
    step_scores: tuple[StepScore, ...] = ()
    replan_attempts: int = 0
    retry_attempts: int = Field(0, description="How often the critic had a step run again before this.")
    inputs_hash: str = Field("", description="The hash of all records that the verdict follows from.")
    decided_by: str = Field("", description="The person who accepted what the critic did not; else empty.")

    @property
    def not_judged(self) -> tuple[str, ...]:
        """The ids of steps whose criterion in words nobody judged."""
        return tuple(score.step_id for score in self.step_scores if score.not_judged)


class Finding(BaseModel):
    """One thing verification or execution found wrong: a code, the step, and a fix."""

    model_config = ConfigDict(frozen=True)
    code: str
    step_id: str = ""
    message: str
    fix: str = ""

    def __str__(self) -> str:
        where = f" [{self.step_id}]" if self.step_id else ""
        return f"{self.code}{where}: {self.message}" + (f" ({self.fix})" if self.fix else "")


def answer_id(run_id: str) -> str:
    """Name the message with which a run ends on its thread."""
    return f"answer_{run_id}"


def spelled_end(status: str, error: str) -> str:
    """Say how a step ended that is not complete, without saying it twice: `rejected by ada: not today`."""
    return error if error.startswith(status) else f"{status}: {error}" if error else status
