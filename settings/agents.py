"""The settings of an agent, and the limits that a run and an agent share."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from planwright.domain.declared_returns import AnswerSchema
from planwright.domain.risk import Mode
from planwright.domain.run_context import PlanningMode

AgentId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def _unlimited(value: object) -> object:
    return None if value == "unlimited" else value


Count = Annotated[Annotated[int, Field(ge=0)] | None, BeforeValidator(_unlimited)]
Dollars = Annotated[Annotated[Decimal, Field(ge=0)] | None, BeforeValidator(_unlimited)]
Seconds = Annotated[Annotated[float, Field(ge=0)] | None, BeforeValidator(_unlimited)]


class RunBudgetSettings(BaseModel):
    """Limits of one run; None, written "unlimited", means no limit. `cost` is in US dollars.

    `wall_clock_s` counts the seconds a run is worked on, not those it waits for a person. `effects` counts
    the calls that change something, `effects_per_minute` those of them that no person decided over.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens: Count = None
    """Most tokens that model calls may use, sent and returned together."""
    model_calls: Count = None
    """Most calls of models."""
    tool_calls: Count = None
    """Most calls of capabilities."""
    cost: Dollars = None
    """Most US dollars that model calls may cost; None for no limit."""
    wall_clock_s: Seconds = None
    """Most seconds that the run is worked on, waiting for people left out."""
    effects: Count = None
    """Most calls that change something."""
    effects_per_minute: Count = None
    """Most calls a minute that change something and that no person decided over."""

    def setting(self, name: str) -> str:
        """Name the setting that a limit comes from."""
        return f"budgets.run.{name}"


class WorkspaceRunBudgetSettings(RunBudgetSettings):
    """The limits of every run of a workspace, with defaults that no honest small task reaches."""

    tokens: Count = 200_000
    """Most tokens of one run; "unlimited" for no limit."""
    model_calls: Count = 200
    """Most calls of models in one run; "unlimited" for no limit."""
    tool_calls: Count = 200
    """Most calls of capabilities in one run; "unlimited" for no limit."""
    wall_clock_s: Seconds = 1800
    """Most seconds that one run is worked on; "unlimited" for no limit."""
    effects: Count = 20
    """Most calls that change something in one run; "unlimited" for no limit."""
    effects_per_minute: Count = 10
    """Most such calls a minute that no person decided over; "unlimited" for no limit."""


class BudgetSettings(BaseModel):
    """Spending limits."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run: WorkspaceRunBudgetSettings = WorkspaceRunBudgetSettings()
    """Limits of every run of the workspace."""


class AgentProfile(BaseModel):
    """A profile to run by; what it leaves out is as in the rest of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    description: str = ""
    """What the agent is for, as people read it."""
    planning: PlanningMode | None = None
    """When its runs are planned; None as the workspace says."""
    max_tool_iterations: int | None = Field(None, ge=1, le=500)
    """Most turns of a loop of its runs; None as the workspace says."""
    tools: tuple[str, ...] | None = None
    """Names or globs of the capabilities that it may use; None for all."""
    modes: tuple[Mode, ...] | None = None
    """Modes of the capabilities that it may use; None for all."""
    model: str | None = None
    """Provider, or provider/model, that serves it; None for the first that can."""
    limits: RunBudgetSettings = RunBudgetSettings()
    """Limits of its runs; what they leave out is as the workspace says."""
    instructions: str = ""
    """What it is told in its prompts; "" for nothing."""
    answer_schema: AnswerSchema | None = None
    """Form of the typed answer that its runs end with, as fields or a JSON Schema; None for words alone."""
