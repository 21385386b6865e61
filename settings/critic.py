"""Settings of the critic: how often it has steps run again, and what it does with what nobody judged."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from planwright.domain.risk import Risk


class CriticSettings(BaseModel):
    """What the critic may order by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    strictness: Literal[Risk, "off"] = Field(
        "Medium",
        description="From which risk of a step a criterion in words that nobody judged goes to a person;"
        " `off`: it always passes.",
    )
    step_retries: int = Field(1, ge=0, description="How often one step that changed nothing is run again.")
    run_retries: int = Field(3, ge=0, description="How often that happens in a run, over all its steps.")
