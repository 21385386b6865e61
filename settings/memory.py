"""The settings of what runs propose to remember."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class MemorySettings(BaseModel):
    """Whether runs propose memories, and who accepts them: a person (`ask`), or the policy as well (`rule`).

    A run proposes `most` at the most. Where a model looks for them, it has `timeout_s` and `max_tokens`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    proposals: Literal["off", "ask", "rule"] = "ask"
    """Whether runs propose memories, and whether the policy may accept them, too."""
    most: int = Field(3, ge=1, le=20)
    """Most memories that one run proposes."""
    timeout_s: float = Field(300, gt=0)
    """Seconds that a model has to look for them."""
    max_tokens: int = Field(400, ge=1)
    """Most tokens of that model's reply."""
