"""The criteria in words of a plan on its card, and whether a model will judge them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planwright.domain.plan import CheckedStep


def with_criteria(card: dict[str, Any], checked: Sequence[CheckedStep], *, judged: bool) -> dict[str, Any]:
    """Add to each step of a card its criterion in words, and whether the role critic judges it."""
    rubrics = {
        entry.step.id: entry.step.success_criteria.rubric
        for entry in checked
        if entry.step.success_criteria and entry.step.success_criteria.rubric
    }
    steps = [
        {**step, "criterion": rubrics[step["id"]], "judged": "by the critic" if judged else "not judged"}
        if step["id"] in rubrics
        else step
        for step in card["steps"]
    ]
    return {**card, "steps": steps}
