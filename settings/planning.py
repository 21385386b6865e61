"""The settings of planning: when a request is planned, and how the planner is asked."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from planwright.domain.run_context import PlanningMode


class PlanningSettings(BaseModel):
    """When and how far to plan."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: PlanningMode = "auto"
    """Which requests are planned: all, none, the complex ones, or those a model chooses."""
    threshold: int = 3
    """Points from which a request is complex by mode `auto`."""
    max_steps: int = Field(20, ge=1, le=1000)
    """Most steps that a plan may have."""
    max_depth: int = Field(3, ge=0, le=10)
    """Most levels of agents that delegate to agents."""
    replan_budget: int = Field(2, ge=0)
    """How often a run may plan again."""
    reclassify_budget: int = Field(1, ge=0)
    """How often a request is routed anew because its plan names capabilities there are not."""


class PlannerSettings(BaseModel):
    """How long and how often to ask for a plan (4 attempts, 2.0 backoff, 15 minutes in all)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attempts: int = Field(4, ge=1)
    """How often a provider that does not serve is asked for a plan."""
    backoff: float = Field(2.0, ge=1)
    """Factor by which each wait between these attempts is longer than the one before."""
    repairs: int = Field(2, ge=0)
    """How often a plan that is not valid goes back to the model to be repaired."""
    timeout_s: float = Field(900, gt=0)
    """Seconds until a plan has to be there, with all attempts and repairs."""
