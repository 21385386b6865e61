"""The first place at which two values of JSON differ, spelled as a path."""

from __future__ import annotations

import json
from collections.abc import Mapping

LONGEST = 80


def first_difference(recorded: object, now: object, path: str = "") -> str:
    """Say where two values differ first, and how: `verdict.step_scores[0].utility: 1.0, and now 0`.

    Returns "" where they are equal.
    """
    if isinstance(recorded, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys([*recorded, *now]):
            inner = f"{path}.{name}" if path else str(name)
            if name not in recorded or name not in now:
                return f"{inner}: {'is new' if name in now else 'is gone'}"
            if difference := first_difference(recorded[name], now[name], inner):
                return difference
        return ""
    if isinstance(recorded, list) and isinstance(now, list):
        for n, (left, right) in enumerate(zip(recorded, now, strict=False)):
            if difference := first_difference(left, right, f"{path}[{n}]"):
                return difference
        same_length = len(recorded) == len(now)
        return "" if same_length else f"{path}: {len(recorded)} entries, and now {len(now)}"
    same = recorded == now and isinstance(recorded, bool) == isinstance(now, bool)
    return "" if same else f"{path or 'the value'}: {_short(recorded)}, and now {_short(now)}"


def _short(value: object) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
