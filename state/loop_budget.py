"""What a lane may spend: carved from the lane that opened it, and counted against both."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class LoopBudget(BaseModel):
    """Limits of one lane; `lane` is its path within the run. Unset means no limit of its own.

    What a lane does not spend is never taken from its parent: every call counts in all lanes above it.
    """

    model_config = ConfigDict(frozen=True)
    lane: str
    """Path of the lane within its run: names of lanes joined by `/`."""
    tokens: int | None = None
    """Most tokens that it may use; None for no limit of its own."""
    tool_calls: int | None = None
    """Most calls of capabilities that it may make; None for no limit of its own."""


def carve(wanted: int | None, left: int | None) -> int | None:
    """Give a lane what it asks for, and never more than its parent has left."""
    amounts = [amount for amount in (wanted, left) if amount is not None]
    return max(0, min(amounts)) if amounts else None
