"""Cards: what a person is shown at a gate, as plain data that can be stored and sent."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

Card = dict[str, JsonValue]
"""All that a gate shows, by name."""
SEEN = "first seen in the result of"
"""How the origin of a value begins that the user did not write and a call brought."""


def card_steps(card: Mapping[str, JsonValue]) -> list[Card]:
    """List the steps on the card of a plan."""
    steps = card["steps"]
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
