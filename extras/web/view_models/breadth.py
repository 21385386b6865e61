"""How far an approval is to hold, as boxes on the page of a gate, and what was ticked. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planwright.records.consent.approval_scope import (
    ArgumentRule,
    choosable_in,
    free_in,
    pattern_of,
    rule_words,
)
from planwright.records.consent.gate import Gate


@dataclass(frozen=True)
class BreadthChoice:
    """One box: what one argument may be from now on."""

    name: str
    """Name of the argument."""
    rule: ArgumentRule
    """What it may be."""

    @property
    def field(self) -> str:
        """Name of the box in the form."""
        return f"{'at' if self.rule.bounded else 'any'}-{self.name}"

    @property
    def words(self) -> str:
        """What stands beside the box."""
        return f"{self.name} {rule_words(self.rule)}" if self.rule.bounded else f"any {self.name}"


def breadth_choices(gate: Gate) -> list[BreadthChoice]:
    """List what may be ticked at a gate of one call whose approval may hold for more than this once."""
    args = gate.card.get("args")
    if not gate.may_be_remembered or len(gate.calls) != 1 or not isinstance(args, dict):
        return []
    places = ((name, pattern_of(value)) for name, value in args.items())
    free = {*free_in(gate.card), *choosable_in(gate.card)}
    return [
        *(BreadthChoice(name, place) for name, place in places if place),
        *(BreadthChoice(name, ArgumentRule(any=True)) for name in args if name in free),
    ]


def breadth_of(gate: Gate, only: Callable[[str], str]) -> dict[str, object]:
    """Read what was ticked and typed; `only` reads a field of the form, "" where it is empty."""
    ticked = {
        choice.name: choice.rule.model_dump(exclude_unset=True)
        for choice in breadth_choices(gate)
        if only(choice.field)
    }
    limits: dict[str, object] = {"args": ticked} if ticked else {}
    limits |= {"when": when} if (when := only("when").strip()) else {}
    return limits | ({"most": most} if (most := only("most").strip()) else {})
