"""The files that a call passes on, in words: whatever shows its card says the same of them."""

from __future__ import annotations

from planwright.presentation.rows import Card

LONGEST = 120
"""Letters of its beginning that are shown."""


def file_lines(card: Card) -> list[str]:
    """Say of each file that a call passes on how large it is, what it is by its hash, and how it begins."""
    return [_line(file) for file in card.get("files", ())]


def _line(file: Card) -> str:
    if not file["sha256"]:
        return f"{file['path']}: there is no such file now"
    size = f"{file['size']:,} byte{'s' * (file['size'] != 1)}"
    beginning = " ".join(str(file["beginning"]).split())[:LONGEST]
    begins = f"; it begins: {beginning}" if beginning else ""
    return f"{file['path']}: {size}, SHA-256 {file['sha256'][:12]}…{begins}"
