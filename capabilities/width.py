"""The width of an approval that holds for more than one call: which arguments may differ, in words."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planwright.capabilities.contract import Capability
from planwright.domain.hashing import json_text, same

LONGEST = 60  # characters of an argument in words


def width_of(capability: Capability, args: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Say which arguments may be anything when a call is approved for its run, or its conversation.

    Those are all but its destinations. Where it declares none, nothing is free by itself, and a person may
    `choose` what is. Returns `free`, their names, and `words`, as on the card:
    `channel.post, channel "team", any text`.
    """
    fixed = capability.destinations or tuple(args)
    free = [name for name in args if name not in fixed]
    exact = {name: args[name] for name in fixed if not same(args.get(name), capability.defaults.get(name))}
    named = [f"{name} {_short(value)}" for name, value in exact.items()]
    words = ", ".join([capability.name, *named, *(f"any {name}" for name in free)])
    choose: dict[str, JsonValue] = {} if capability.destinations or not args else {"choose": [*args]}
    return {"free": [*free], "words": words, **choose}


def _short(value: JsonValue) -> str:
    text = f'"{value}"' if isinstance(value, str) else json_text(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
