"""The settings of an agent, and the limits that a run and an agent share."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from planwright.domain.risk import Mode
from planwright.domain.run_context import PlanningMode

AgentId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def _unlimited(value: object) -> object:
    return None if value == "unlimited" else value


Count = Annotated[Annotated[int, Field(ge=0)] | None, BeforeValidator(_unlimited)]
Seconds = Annotated[Annotated[float, Field(ge=0)] | None, BeforeValidator(_unlimited)]


class RunBudget(BaseModel):
    """Limits of one run; None, written "unlimited", means no limit. `cost` is in US dollars.

    `wall_clock_s` counts the seconds a run is worked on, not those it waits for a person. `effects` counts
    the calls that change something, `effects_per_minute` those of them that no person decided over.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens: Count = None
    tool_calls: Count = None
    cost: Decimal | None = Field(None, ge=0)
    wall_clock_s: Seconds = None
    effects: Count = None
    effects_per_minute: Count = None

    def setting(self, name: str) -> str:
        """Name the setting that a limit comes from."""
        return f"budgets.run.{name}"


class WorkspaceRunBudget(RunBudget):
    """The limits of every run of a workspace, with defaults that no honest small task reaches."""

    tokens: Count = 200_000
    tool_calls: Count = 50
    wall_clock_s: Seconds = 1800
    effects: Count = 20
    effects_per_minute: Count = 10


class Budgets(BaseModel):
    """Spending limits."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run: WorkspaceRunBudget = WorkspaceRunBudget()


class Agent(BaseModel):
    """A profile to run by; what it leaves out is as in the rest of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    description: str = ""
    planning: PlanningMode | None = None
    max_tool_iterations: int | None = Field(None, ge=1, le=500)
    tools: tuple[str, ...] | None = None
    modes: tuple[Mode, ...] | None = None
    model: str | None = None
    limits: RunBudget = RunBudget()
    instructions: str = ""
