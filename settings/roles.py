"""The settings of roles: which model does which kind of work."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Role = Literal["planner", "fast", "agent", "respond", "critic"]


class RoleSettings(BaseModel):
    """A model for each kind of work, as `provider` or `provider/model`; None is the model of the run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    planner: str | None = Field(None, min_length=1, description="Makes plans, and the task they are for.")
    fast: str | None = Field(
        None, min_length=1, description="Votes, shortlists, alternatives, summaries of long talks, titles."
    )
    agent: str | None = Field(None, min_length=1, description="Calls tools, in loops, steps and sub-agents.")
    respond: str | None = Field(None, min_length=1, description="Writes the answer of a planned run.")
    critic: str | None = Field(None, min_length=1, description="Judges what only words can judge.")
