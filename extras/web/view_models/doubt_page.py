"""What a page shows of effects in doubt: one line each, why nobody knows, and how to find out. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planwright.domain.doubt import Doubt
from planwright.presentation.doubt_lines import finding_out_lines, not_whole, question_lines, reason_lines


@dataclass(frozen=True)
class AskedDoubt:
    """One effect that a person is asked about."""

    key: str
    """Idempotency key of the effect, 64 hex digits."""
    line: str
    """What was called, with the values that tell it apart, when it was begun, and its key."""
    values: Mapping[str, JsonValue]
    """Arguments that the line leaves out, or cuts."""


@dataclass(frozen=True)
class DoubtPage:
    """All that is asked about at one time."""

    questions: Sequence[AskedDoubt]
    """The effects, in the order in which they were begun."""
    why: Sequence[str]
    """Why nobody knows, each reason once."""
    find_out: Sequence[str]
    """How to find out, each way once."""


def doubt_page(doubts: Sequence[Doubt]) -> DoubtPage:
    """Lay out effects in doubt for somebody who has to say whether they happened."""
    questions = [
        AskedDoubt(doubt.key, line, {name: doubt.args[name] for name in not_whole(doubt, doubts)})
        for doubt, line in zip(doubts, question_lines(doubts), strict=True)
    ]
    why, find_out = (lines(doubts) if doubts else [] for lines in (reason_lines, finding_out_lines))
    return DoubtPage(questions, why, find_out)
