"""What a plan will do and use, and how grave that is, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planwright.domain.results import MICRO_CENTS_PER_DOLLAR
from planwright.presentation.rows import Card, EventData

UNIT_WORDS: Mapping[str, str] = {
    "tokens": "tokens",
    "model_calls": "calls of models",
    "tool_calls": "calls",
    "cost": "US dollars",
    "wall_clock_s": "seconds of work",
    "effects": "changes",
    "effects_per_minute": "changes a minute that nobody decided over",
    "ttl_s": "seconds before it expires",
}
"""What is limited, by the names of limits, in words."""


def risk_text(risk: str) -> str:
    """Name a risk in words."""
    return "no risk" if risk == "None" else f"{risk} risk"


def work_text(steps: Sequence[Card]) -> str:
    """Sum up what a plan will do: its calls, how many of them change something, and who makes them."""
    agents = sum(step["capability"] == "agent" for step in steps)
    calls = len(steps) - agents
    changes = sum(_changes(step) for step in steps if step["capability"] != "agent")
    kinds = ((calls - changes, "reading"), (changes, "changing or sending something"))
    split = ", ".join(f"{count} {kind}" for count, kind in kinds if count)
    text = f"{calls} call{'s' * (calls != 1)}" + (f" ({split})" if split else "")
    text += f", {agents} step{'s' * (agents != 1)} left to a model with tools" if agents else ""
    maybe = sum("only_if" in step for step in steps)
    return text + (f"; {maybe} of {len(steps)} only if a condition holds" if maybe else "")


def _changes(step: Card) -> bool:
    """Say whether a call changes or sends something, by its effect, or its mode where that is not told."""
    return bool(step.get("effect", step["mode"].replace("read_only", "pure")) != "pure")


def model_use_text(needed: EventData) -> str:
    """Say what the models of a plan will use, as far as that is known before it runs."""
    calls, least = needed["model_calls"], "at least " if needed["at_least"] else ""
    if not calls:
        return "no call of a model"
    price = "unpriced" if needed["cost"] is None else f"from {dollars(needed['cost'])}"
    return f"{least}{calls} call{'s' * (calls != 1)} of a model, from {needed['tokens']:,} tokens, {price}"


def dollars(micro_cents: float | None) -> str:
    """Spell a cost in dollars and cents, and in parts of a cent where it has some; "" for None."""
    if micro_cents is None:
        return ""
    whole, _, parts = f"{micro_cents / MICRO_CENTS_PER_DOLLAR:,.4f}".partition(".")
    return f"${whole}.{parts[:2]}{parts[2:].rstrip('0')}"


def amount_text(unit: str, value: float) -> str:
    """Spell an amount with its unit; a cost is in micro-cents."""
    return dollars(value) if unit == "cost" else f"{value:,} {UNIT_WORDS.get(unit, unit)}"
