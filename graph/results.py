"""What a step, a score and a run end with."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

StepStatus = Literal["completed", "failed", "skipped", "rejected"]
Ruling = Literal["accept", "retry", "replan", "escalate"]
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
    chain stopped, by uid.
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


class Verdict(BaseModel):
    """The critic's ruling over a run, with the reason in words."""

    model_config = ConfigDict(frozen=True)
    run_id: str
    plan_id: str
    verdict: Ruling
    reason: str = ""
    step_scores: tuple[StepScore, ...] = ()
    replan_attempts: int = 0


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
