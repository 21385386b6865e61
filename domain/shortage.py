"""What a run lacks where a limit of it stops it, and how much more a person is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Shortage:
    """A limit of a run that does not cover what comes next; a cost is in US dollars."""

    unit: str
    """Name of the limit, such as `tool_calls`; a run can be given more of it."""
    most: float
    """How much of it there may be."""
    missing: float
    """How much more the next call needs than is left."""

    @property
    def offered(self) -> float:
        """How much more a person is asked for: two fifths of the limit, or twice what is missing."""
        more = max(0.4 * self.most, 2 * self.missing)
        return math.ceil(100 * more) / 100 if self.unit == "cost" else max(1, math.ceil(more))
