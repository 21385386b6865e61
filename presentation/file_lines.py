"""The files that a call passes on, in words: whatever shows its card says the same of them."""

from __future__ import annotations

from collections.abc import Iterator

from planwright.presentation.rows import Card

LONGEST = 120
"""Letters of its beginning that are shown."""


def file_lines(card: Card) -> list[str]:
    """Say of each file that a call passes on how large it is, what it is by its hash, and how it begins."""
    return [_line(file) for file in card.get("files", ())]


def rewrite_texts(card: Card) -> list[str]:
    """Say of each file that a call replaces how large it is, how it begins, and what will be different.

    A text has several lines; what they hold may be anything.
    """
    return ["\n".join(_rewrite(file)) for file in card.get("rewrites", ())]


def _rewrite(file: Card) -> Iterator[str]:
    size = f"{file['size']:,} byte{'s' * (file['size'] != 1)}"
    if "diff" in file:
        yield f"{file['path']} is replaced ({size})" if file["diff"] else f"{file['path']} stays as it is"
        yield from file["diff"]
        if more := file.get("more"):
            yield f"… and {more:,} more lines"
        return
    yield f"{file['path']} is replaced ({size})" + ("; it begins:" if file.get("begins") else "")
    yield from file.get("begins", ())


def _line(file: Card) -> str:
    if not file["sha256"]:
        return f"{file['path']}: there is no such file now"
    size = f"{file['size']:,} byte{'s' * (file['size'] != 1)}"
    beginning = " ".join(str(file["beginning"]).split())[:LONGEST]
    begins = f"; it begins: {beginning}" if beginning else ""
    return f"{file['path']}: {size}, SHA-256 {file['sha256'][:12]}…{begins}"
