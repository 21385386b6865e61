"""Files that a call replaces, on its card: how they begin now, and what will be different, in short."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import unified_diff
from itertools import takewhile

from pydantic import JsonValue

from planwright.approvals.cards import Card
from planwright.capabilities.descriptions import Rewrite
from planwright.security.redaction.redactor import Redactor

LINES, FIRST_LINES, LONGEST_LINE = 30, 3, 160
MOST_COMPARED = 400
"""Lines that are compared, between those at both ends that stay."""
LARGEST = 200_000
"""Bytes of a file that is compared; of a larger one its size is shown."""

_HEAD = re.compile(r"@@ -(\d+)[^@]*@@")


def shown_rewrite(rewrite: Rewrite, redactor: Redactor) -> Card:
    """Show a file that will be replaced: its size, its first lines, and a unified diff of at most 30 lines.

    There is no diff of what is no text, too large, or not known yet.
    """
    card: Card = {"path": rewrite.path, "size": len(rewrite.before)}
    before, after = (_text(data, redactor) for data in (rewrite.before, rewrite.after))
    if before is None:
        return card
    first: list[JsonValue] = [_cut(line) for line in before.splitlines()[:FIRST_LINES]]
    card |= {"begins": first}
    if after is None:
        return card
    changed = _changed(before.splitlines(), after.splitlines())
    if changed is None:
        return card
    diff: list[JsonValue] = [_cut(line) for line in changed[:LINES]]
    more = len(changed) - LINES
    return card | {"diff": diff, **({"more": more} if more > 0 else {})}


def _changed(before: Sequence[str], after: Sequence[str]) -> list[str] | None:
    """Compare two texts, and name the line where each change begins; None for too much: it takes long."""
    same = _alike(before, after)
    behind = _alike(before[same:][::-1], after[same:][::-1])
    start = max(0, same - 1)
    old, new = (text[start : len(text) - max(0, behind - 1)] for text in (before, after))
    if max(len(old), len(new)) > MOST_COMPARED:
        return None
    lines = [*unified_diff(old, new, n=1, lineterm="")][2:]
    return [_HEAD.sub(lambda head: f"@@ line {int(head[1]) + start} @@", line) for line in lines]


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the lines from the first on that two texts share."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _text(data: bytes | None, redactor: Redactor) -> str | None:
    """Read a text, without what is secret; None where it is none, or too large to be compared."""
    if data is None or len(data) > LARGEST or b"\0" in data:
        return None
    try:
        return redactor.text(data.decode())
    except UnicodeDecodeError:
        return None


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
