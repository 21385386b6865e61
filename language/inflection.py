"""English words in the form that a sentence needs: how many of a thing, and what somebody does."""

from __future__ import annotations

import re

_HISSING = re.compile(r"(?:s|x|z|ch|sh)\Z")
_CONSONANT_Y = re.compile(r"(?<=[^aeiou])y\Z")


def with_s(word: str) -> str:
    """Add the s of a plural, or of the third person: tickets, creates, memories, finishes."""
    if _CONSONANT_Y.search(word):
        return _CONSONANT_Y.sub("ies", word)
    return f"{word}es" if _HISSING.search(word) else f"{word}s"


def counted(number: int, noun: str) -> str:
    """Say how many of a thing there are: 1 ticket, 2 tickets."""
    return f"{number:,} {noun if number == 1 else with_s(noun)}"
