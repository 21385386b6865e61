"""What pydantic finds wrong, in the middle of a sentence; values stay as they are written, to the letter.

A model that is told of `'eur' or 'usd'` where `'EUR'` is meant can never mend its call.
"""

from __future__ import annotations

from pydantic import ValidationError
from pydantic_core import ErrorDetails

MOST = 4
"""Mistakes that are told at once."""


def mistake(entry: ErrorDetails) -> str:
    """Say what is wrong, without the capital that a sentence begins with."""
    text = entry["msg"]
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def mistakes(error: ValidationError, whole: str) -> str:
    """Put the first mistakes on one line: where, and what is wrong; `whole` names what is wrong all over."""
    found = error.errors()[:MOST]
    return "; ".join(f"{'.'.join(map(str, entry['loc'])) or whole}: {mistake(entry)}" for entry in found)
