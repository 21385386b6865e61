"""The settings of the steps of a plan and of loops: order, retries, times and the guard."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from planwright.domain.plan import Cascade


class ExecutionSettings(BaseModel):
    """How steps run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    order: Literal["dataflow", "waves"] = "dataflow"
    """Whether steps wait for what they need alone, or for all steps of the waves before theirs."""
    step_retries: int = Field(2, ge=0)
    """How often a failed call of one step is made again."""
    run_retries: int = Field(10, ge=0)
    """How often calls are made again in one run, over all its steps."""
    retry_base_ms: float = Field(250, ge=0)
    """Milliseconds before the first retry of a call; further waits are longer."""
    max_parallel_steps: int = Field(8, ge=1)
    """Most calls, and most lanes of agents, that are at work at once in a run."""
    max_tool_iterations: int = Field(100, ge=1)
    """Most turns of one loop, where its agent sets none."""
    max_tool_iterations_hard_limit: int = Field(500, ge=1, le=500)
    """Most turns of one loop, whatever its agent sets."""
    step_timeout_s: float = Field(120, gt=0)
    """Seconds that a call may take where neither step nor capability says."""
    on_failed_dependency: Cascade = "partial"
    """Whether a step runs with what is left when one it needs fails, or is skipped, where no plan says."""


class AlternativeSettings(BaseModel):
    """What a model may suggest instead of a call that failed (one a step, 256 tokens)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    """Whether a model is asked for another call at all."""
    max_tokens: int = Field(256, ge=1)
    """Most tokens of its reply."""
    temperature: float = Field(0.5, ge=0, le=2)
    """Temperature that it is asked with."""


class LoopGuardSettings(BaseModel):
    """When a model goes round in circles: calls of the window, then the counts of each pattern."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    window: int = Field(30, ge=1)
    """Number of the newest calls that are looked at."""
    repeat: tuple[int, int, int] = (10, 20, 30)
    """How often one call may be in the window before a warning, its refusal, and the end of the loop."""
    poll: tuple[int, int] = (3, 5)
    """How often one call may be made in a row before a warning, and its refusal."""
    ping_pong: int = Field(6, ge=4)
    """Number of the newest calls in which two calls in turn, A B A B, are a warning."""
