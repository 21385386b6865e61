"""How far an approval is to hold, as it is typed at a gate: `c`, `a path=notes/`, `r when total <= 9 x10`."""

from __future__ import annotations

import re

from planwright.presentation.rows import Card
from planwright.records.consent.approval_scope import ScopeDuration, choosable_in, pattern_of, rule_of

_SCOPES: dict[str, ScopeDuration] = {
    **{"r": "run", "run": "run", "c": "session", "chat": "session", "conversation": "session"},
    **{"a": "always", "always": "always"},
}
_TYPED = re.compile(
    r"(?P<scope>[a-z]+)(?P<terms>(?:\s+[\w.-]+(?:=\S+)?)*?)(?:\s+when\s+(?P<when>.+?))?(?:\s+x(?P<most>[1-9]\d{0,5}))?",
    re.IGNORECASE,
)
_EXAMPLE = "[c x10] for ten calls"


def read_breadth(typed: str, waiting: Card) -> str | dict[str, object] | None:
    """Read how far an approval is to hold; None where something else was typed."""
    match = _TYPED.fullmatch(typed)
    scope = _SCOPES.get(match["scope"].lower()) if match else None
    if match is None or scope is None:
        return None
    pairs = [term.partition("=") for term in match["terms"].split()]
    args = waiting["shown"].get("args") or {}
    if any(name not in args for name, _, _ in pairs):
        return None
    rules = {name: rule_of(text) if equals else {"any": True} for name, equals, text in pairs}
    limits: dict[str, object] = {"args": rules} if rules else {}
    limits |= {"when": match["when"]} if match["when"] else {}
    limits |= {"most": int(match["most"])} if match["most"] else {}
    return {"scope": scope, **limits} if limits else scope


def breadth_words(card: Card) -> str:
    """Say what may be typed beside the length, with the arguments on this card."""
    args = card.get("args") or {}
    places = {name: place for name, value in args.items() if (place := pattern_of(value))}
    words = [
        f"[a {name}={place.origin}] always, there"
        if place.origin
        else f"[a {name}={place.under}/] always, there"
        for name, place in places.items()
    ]
    words += [f"[a {name}] always, any {name}" for name in choosable_in(card)[:3]]
    numbers = [name for name, value in args.items() if isinstance(value, int | float) and value > 0]
    words += [f"[c when {name} <= {args[name]:g}]" for name in numbers[:1]]
    return "   ".join([*words, _EXAMPLE])
