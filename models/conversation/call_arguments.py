"""The name and the arguments of a model's call, in the forms that every part can take."""

from __future__ import annotations

import json
import re
from typing import Any

from planwright.checkpoints.serde import storable
from planwright.domain.hashing import sha256

_WIRE_NAME, _OTHERS = re.compile(r"[A-Za-z0-9_-]{1,64}"), re.compile(r"[^A-Za-z0-9_-]")
DEEPEST = 64  # pydantic's own limit is 255, counted with the models around the value


def flaw_of(args: object) -> str:
    """Say which argument cannot be stored and sent back, or that all are no JSON object; else empty.

    Not taken are halves of surrogate pairs, huge numbers, NaN and infinity, and deep nesting.
    """
    if not isinstance(args, dict):
        excerpt = whole(args)[:200] if isinstance(args, str) else type(args).__name__
        return f"the arguments are no JSON object: {excerpt}"
    flaws = ((name, _unstorable({name: value})) for name, value in args.items())
    words = (f"the argument {whole(str(name))} cannot be stored: {flaw}" for name, flaw in flaws if flaw)
    return next(words, "")


def _unstorable(args: dict[str, object]) -> str:
    try:
        storable(args)
        json.dumps(args, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return str(error)
    return f"nested deeper than {DEEPEST} levels" if _deeper(args, DEEPEST) else ""


def whole(text: str) -> str:
    """Replace halves of surrogate pairs, which no store and no provider takes."""
    return text.encode(errors="replace").decode()


def _deeper(value: object, levels: int) -> bool:
    row: list[Any] = [value]
    for _ in range(levels):
        nested = (entry.values() if isinstance(entry, dict) else entry for entry in row)
        row = [item for entry in nested for item in entry if isinstance(item, dict | list | tuple)]
    return bool(row)


def wire_name(name: str) -> str:
    """Spell a capability's name as function calling allows it: up to 64 letters, digits, `_` and `-`.

    What is not spelled so by itself has a hash at its end. Source: OpenAI's reference, function.name.
    """
    spelled = name.replace(".", "__")
    if _WIRE_NAME.fullmatch(spelled):
        return spelled
    return f"{_OTHERS.sub('_', spelled)[:55]}_{sha256(name)[:8]}"
