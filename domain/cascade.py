"""What becomes of a step whose dependencies did not all succeed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from planwright.domain.plan import Cascade
from planwright.domain.results import StepResult

Fate = Literal["run", "skip"]


def cascade_decision(
    needs: Sequence[str], results: Mapping[str, StepResult], cascade: Cascade
) -> tuple[Fate, tuple[str, ...]]:
    """Decide whether a step runs, and name the steps whose results it has to do without."""
    missing = tuple(results[uid].step_id for uid in needs if results[uid].status != "completed")
    if not missing:
        return "run", ()
    nothing_left = len(missing) == len(needs)
    return ("skip" if cascade == "skip" or nothing_left else "run"), missing
