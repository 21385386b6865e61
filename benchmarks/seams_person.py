"""The person of the sweep over the seams: keeps every card as it was shown, and answers it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SeenCard:
    """One card as a person saw it, and what they said."""

    gate_id: str
    """Id of its gate."""
    kind: str
    """What it asks about: a plan, a step, a question, an escalation."""
    shown: Mapping[str, Any]
    """All that it shows."""
    hash: str
    """Hash that an answer names."""
    later: tuple[str, ...]
    """Steps that it says are shown later."""
    said: str
    """`approve`, `reject` or `respond`."""
    unseen: bool = False
    """Whether the person said that those need not be shown."""


@dataclass
class Person:
    """Says yes to every card but one, and lets something happen while the first is open."""

    refused: int | None = None
    """Number of the card that is refused, from 0; None for none."""
    unseen: bool = False
    """Whether plans are approved unseen, where they may be."""
    other: str = ""
    """Hash of the card of another value, which an approval of the refused one names first; "" for none."""
    meanwhile: Callable[[], None] = field(default=lambda: None)
    """What happens while the first card is open."""
    seen: list[SeenCard] = field(default_factory=list)

    @property
    def mistaken(self) -> dict[str, Any] | None:
        """An approval of the card before, which names the hash of another; None where there is none."""
        card = self.seen[-1]
        if card.said != "reject" or not self.other or self.other == card.hash:
            return None
        return {"type": "approve", "gate_id": card.gate_id, "plan_hash": self.other}

    def answer(self, prompt: Mapping[str, Any]) -> dict[str, Any]:
        """Look at a card, and decide."""
        if not self.seen:
            self.meanwhile()
        later = tuple(prompt.get("shown_later", ()))
        said = "reject" if self.refused == len(self.seen) or prompt["kind"] == "escalation" else "approve"
        said = "respond" if prompt["kind"] == "info" else said
        unseen = self.unseen and bool(later) and said == "approve"
        shown = copy.deepcopy(prompt["shown"])
        card = SeenCard(prompt["gate_id"], prompt["kind"], shown, prompt["plan_hash"], later, said, unseen)
        self.seen.append(card)
        one: dict[str, Any] = {"type": said}
        if said != "approve":
            one["message"] = "no"
        if unseen:
            one["remember"] = {"unseen": True}
        return {"decisions": [one] * len(prompt["action_requests"])}
