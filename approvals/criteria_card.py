"""The criteria in words of a plan on its card, and whether a model will judge them."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from planwright.approvals.cards import Card, card_steps
from planwright.domain.verified_step import VerifiedStep


def with_criteria(card: Card, checked: Sequence[VerifiedStep], *, judged: bool) -> Card:
    """Add to each step of a card its criterion in words, and whether the role critic judges it."""
    rubrics: dict[JsonValue, str] = {
        entry.step.id: entry.step.success_criteria.rubric
        for entry in checked
        if entry.step.success_criteria and entry.step.success_criteria.rubric
    }
    steps: list[JsonValue] = [
        {**step, "criterion": rubrics[step["id"]], "judged": "by the critic" if judged else "not judged"}
        if step["id"] in rubrics
        else step
        for step in card_steps(card)
    ]
    return {**card, "steps": steps}
