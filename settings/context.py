"""The settings of the context window (compact at 80 %, the oldest 60 %, truncate to 70 %)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ContextSettings(BaseModel):
    """When a conversation is shortened, and how far; shares of the model's context, and of the messages."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    compact_at: float = Field(0.8, gt=0, le=1)
    """Share of the model's context from which a conversation is shortened."""
    compact_oldest: float = Field(0.6, gt=0, lt=1)
    """Share of the messages, the oldest, that a summary takes the place of."""
    truncate_to: float = Field(0.7, gt=0, le=1)
    """Share of the context that the messages may fill where they are cut off without a summary."""
    compact_timeout_s: float = Field(300, gt=0)
    """Seconds that a model has to write the summary."""
