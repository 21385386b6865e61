"""The arguments of a model's call as JSON that every part can take: store, provider, validator."""

from __future__ import annotations

import json
from typing import Any

from planwright.checkpoints.serde import storable

DEEPEST = 64  # pydantic's own limit is 255, counted with the models around the value


def flaw_of(args: object) -> str:
    """Say why arguments are no JSON object that can be stored and sent back; empty when they are.

    Not taken are halves of surrogate pairs, huge numbers, NaN and infinity, and deep nesting.
    """
    if not isinstance(args, dict):
        excerpt = whole(args)[:200] if isinstance(args, str) else type(args).__name__
        return f"the arguments are no JSON object: {excerpt}"
    try:
        storable(args)
        json.dumps(args, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"the arguments cannot be stored: {error}"
    deep = f"the arguments cannot be stored: nested deeper than {DEEPEST} levels"
    return deep if _deeper(args, DEEPEST) else ""


def whole(text: str) -> str:
    """Replace halves of surrogate pairs, which no store and no provider takes."""
    return text.encode(errors="replace").decode()


def _deeper(value: object, levels: int) -> bool:
    row: list[Any] = [value]
    for _ in range(levels):
        nested = (entry.values() if isinstance(entry, dict) else entry for entry in row)
        row = [item for entry in nested for item in entry if isinstance(item, dict | list | tuple)]
    return bool(row)
