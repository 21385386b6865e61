"""What each step of a plan calls, in the words of the capability: one phrase on its card."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

from planwright.approvals.cards import Card, card_steps
from planwright.capabilities.contract import Capability
from planwright.capabilities.registry import Registry
from planwright.domain.verified_step import VerifiedStep

LONGEST = 120
_SENTENCE = re.compile(r".*?[.!?;](?=\s|\Z)", re.DOTALL)


def with_phrases(card: Card, checked: Sequence[VerifiedStep], registry: Registry) -> Card:
    """Add to each step of a card what its capability does, as it describes itself."""
    called = {entry.step.id: registry.get(entry.step.shown_name) for entry in checked}
    phrases = {id_: phrases_of(capability) for id_, capability in called.items() if capability}
    return {**card, "steps": [{**step, **phrases.get(str(step["id"]), {})} for step in card_steps(card)]}


def phrases_of(capability: Capability) -> Card:
    """Say what a call does: in the words of its capability, and in two words where it declares them."""
    does = {"does": first_sentence(capability.description)} if capability.description.strip() else {}
    deed = capability.deed
    return {**does, **({"deed": {"verb": deed.verb, "noun": deed.noun}} if deed else {})}


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


def first_sentence(description: str) -> str:
    """Take the first sentence of a description, without its full stop, in at most 120 characters."""
    text = description.strip()
    first = match[0] if (match := _SENTENCE.match(text)) else text
    words = " ".join(first.split()).rstrip(".;")
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"
