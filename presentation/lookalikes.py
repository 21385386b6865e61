"""Letters that look like others, in addresses, hosts and names: a card says which they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from planwright.domain.references import strings
from planwright.language.alphabets import ALIKE, OwnLetters, letters_of
from planwright.language.first_person import own_words

MOST, AROUND = 10, 40
_PIECE = re.compile(r"[^\s<>()\[\]{}\"',;]+")
_IN_ADDRESS = frozenset("@./:\u2044\u2024\uff0e\uff20")
_LABEL = re.compile(r"\bxn--[a-z0-9-]+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-z]")


def lookalikes(args: dict[str, JsonValue], request: str = "") -> list[str]:
    """Name what is outside of ASCII in what reads like an address, a host or a path, and hosts in punycode.

    Elsewhere name letters that pass for Latin ones beside such. Words in the letters that the user's own
    words in a `request` are written in are none. Other scripts come before accents, at most ten lines and how
    many more, e.g. `kim@аcme.example: "а" is CYRILLIC SMALL LETTER A`.
    """
    own = letters_of(own_words(request))
    marks = dict.fromkeys(mark for text in strings(args) for mark in _marks(text, own))
    gravest_first = sorted(marks, key=lambda mark: " is LATIN " in mark)
    more = len(gravest_first) - MOST
    return [*gravest_first[:MOST], *([f"and {more} more"] if more > 0 else [])]


def _marks(text: str, own: OwnLetters) -> Iterator[str]:
    if text.isascii() and "xn--" not in text.lower():
        return
    has_latin = _LATIN.search(text) is not None
    for piece in _PIECE.findall(text):
        if not _IN_ADDRESS.isdisjoint(piece):
            rest = _WORD.sub(lambda word: "".join(own.strange_in(word[0], place=True)), piece)
            yield from _letters(piece, dict.fromkeys(c for c in rest if not c.isascii()))
            for label in _LABEL.findall(piece):
                yield f"{_around(piece, label)}: {label} is {_decoded(label)}"
        elif has_latin:
            for word in _WORD.findall(piece):
                alike = dict.fromkeys(c for c in word if c in ALIKE)
                passes = len(word) > 2 and alike and all(c in ALIKE or c.isascii() for c in word)
                if passes and own.strange_in(word, place=False):
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
