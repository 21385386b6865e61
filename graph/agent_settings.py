"""The settings of an agent, and the limits that a run and an agent share."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from planwright.graph.run_context import PlanningMode

AgentId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class RunBudget(BaseModel):
    """Limits of one run; unset means no limit. `cost` is in US dollars.

    `wall_clock_s` counts the seconds a run is worked on, not those it waits for a person.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens: int | None = Field(None, ge=0)
    tool_calls: int | None = Field(None, ge=0)
    cost: Decimal | None = Field(None, ge=0)
    wall_clock_s: float | None = Field(None, ge=0)

    def setting(self, name: str) -> str:
        """Name the setting that a limit comes from."""
        return f"budgets.run.{name}"


class Budgets(BaseModel):
    """Spending limits."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run: RunBudget = RunBudget()


class Agent(BaseModel):
    """A profile to run by; what it leaves out is as in the rest of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    description: str = ""
    planning: PlanningMode | None = None
    max_tool_iterations: int | None = Field(None, ge=1, le=500)
    tools: tuple[str, ...] | None = None
    model: str | None = None
    limits: RunBudget = RunBudget()
    instructions: str = ""
