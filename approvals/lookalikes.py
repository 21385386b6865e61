"""Letters that look like others, in addresses, hosts and names: a card says which they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from planwright.domain.references import strings

MOST, AROUND = 10, 40
_PIECE = re.compile(r"[^\s<>()\[\]{}\"',;]+")
_IN_ADDRESS = frozenset("@./:\u2044\u2024\uff0e\uff20")
_LABEL = re.compile(r"\bxn--[a-z0-9-]+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{3,}")
_LATIN = re.compile(r"[A-Za-z]")
# Letters of other scripts that are drawn as Latin ones (unicode.org/reports/tr39, confusables).
_ALIKE = frozenset("аеорсухіјѕԁӏһԛԝАВЕКМНОРСТУХІЈЅҮορνικυαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")


def lookalikes(args: dict[str, JsonValue]) -> list[str]:
    """Name what is outside of ASCII in what reads like an address, a host or a path, and hosts in punycode.

    Elsewhere name letters that pass for Latin ones beside such. Other scripts come before accents, at most
    ten lines and how many more, e.g. `kim@аcme.example: "а" is CYRILLIC SMALL LETTER A`.
    """
    marks = dict.fromkeys(mark for text in strings(args) for mark in _marks(text))
    gravest_first = sorted(marks, key=lambda mark: " is LATIN " in mark)
    more = len(gravest_first) - MOST
    return [*gravest_first[:MOST], *([f"and {more} more"] if more > 0 else [])]


def _marks(text: str) -> Iterator[str]:
    if text.isascii() and "xn--" not in text.lower():
        return
    has_latin = _LATIN.search(text) is not None
    for piece in _PIECE.findall(text):
        if not _IN_ADDRESS.isdisjoint(piece):
            yield from _letters(piece, dict.fromkeys(c for c in piece if not c.isascii()))
            for label in _LABEL.findall(piece):
                yield f"{_around(piece, label)}: {label} is {_decoded(label)}"
        elif has_latin:
            for word in _WORD.findall(piece):
                alike = dict.fromkeys(c for c in word if c in _ALIKE)
                if alike and all(c in _ALIKE or c.isascii() for c in word):
                    yield from _letters(word, alike)


def _letters(word: str, letters: Iterable[str]) -> Iterator[str]:
    for letter in letters:
        name = unicodedata.name(letter, "a letter without a name")
        yield f'{_around(word, letter)}: "{letter}" is {name}'


def _around(word: str, part: str) -> str:
    """Cut a long word down to what stands around a part of it."""
    start = word.index(part)
    first, last = max(0, start - AROUND), start + len(part) + AROUND
    return "…" * (first > 0) + word[first:last] + "…" * (last < len(word))


def _decoded(label: str) -> str:
    try:
        return f'"{label[4:].encode().decode("punycode")}"'
    except UnicodeError:
        return "no valid host name"
