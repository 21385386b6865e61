"""What a look at the store brings to light."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

RESTORE = "planwright db restore BACKUP"
MOST_NAMES = 3


@dataclass(frozen=True)
class StoreFinding:
    """One thing in one file, and what to do about it. A `note` says what is so, and is no fault."""

    file: str
    """Name of the file that it is about."""
    problem: str
    """What is found, in words."""
    next_step: str
    """What to do about it, in words; "" for nothing."""
    note: bool = False
    """Whether it only says what is so, and is no fault."""


def several(names: Sequence[object]) -> str:
    """Name the first of many, and say how many more there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(map(str, names[:MOST_NAMES])) + (f" and {more:,} more" if more > 0 else "")
