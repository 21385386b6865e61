"""Letters in addresses and hosts that look like others: a card says which they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from pydantic import JsonValue

from planwright.domain.references import strings

MOST, LONGEST = 10, 80
_ADDRESS = re.compile(r"[^\s<>()\[\]{}\"',;]*[@./:][^\s<>()\[\]{}\"',;]*")
_LABEL = re.compile(r"\bxn--[a-z0-9-]+", re.IGNORECASE)


def lookalikes(args: dict[str, JsonValue]) -> list[str]:
    """Name letters outside of ASCII in what reads like an address, a host or a path, and hosts in punycode.

    At most ten lines, e.g. `kim@аcme.example: "а" is CYRILLIC SMALL LETTER A`.
    """
    marks: dict[str, None] = {}
    for text in strings(args):
        for mark in _marks(text):
            marks[mark] = None
            if len(marks) == MOST:
                return list(marks)
    return list(marks)


def _marks(text: str) -> Iterator[str]:
    if text.isascii() and "xn--" not in text.lower():
        return
    for match in _ADDRESS.finditer(text):
        word = match[0][:LONGEST]
        for letter in dict.fromkeys(c for c in word if not c.isascii() and c.isalpha()):
            yield f'{word}: "{letter}" is {unicodedata.name(letter, "a letter without a name")}'
        for label in _LABEL.findall(word):
            yield f"{word}: {label} is {_decoded(label)}"


def _decoded(label: str) -> str:
    try:
        return f'"{label[4:].encode().decode("punycode")}"'
    except UnicodeError:
        return "no valid host name"
