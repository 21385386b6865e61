"""Numbers, times and texts as the pages write them."""

from __future__ import annotations

import pytest

from planwright.extras.web import words
from planwright.presentation.figures import dollars


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0.0, "0.00 s"),
        (0.001, "below 0.01 s"),
        (1.5, "1.50 s"),
        (59.6, "60 s"),
        (61, "1 min 01 s"),
        (7260, "2 h 01 min"),
    ],
)
def test_a_duration_is_spelled(value: float | None, text: str) -> None:
    assert words.duration(value) == text


@pytest.mark.parametrize(
    ("cost", "text"),
    [(None, ""), (0, "$0.00"), (250_000_000, "$2.50"), (12_345, "$0.0001"), (123_456_000_000, "$1,234.56")],
)
def test_money_is_spelled_and_what_nobody_knows_is_not_zero(cost: int | None, text: str) -> None:
    assert dollars(cost) == text


def test_a_text_is_cut_with_its_length_and_a_title_without() -> None:
    assert words.clipped("abc", 3) == "abc"
    assert words.clipped("abcd", 3) == "abc… (4 characters)"
    assert words.clipped({"a": 1}) == '{\n  "a": 1\n}'
    assert words.cut("abcd", 3) == "ab…"
    assert words.short("0123456789abcdef") == "0123456789ab…"


def test_how_long_something_took_needs_both_ends() -> None:
    assert words.between("2026-01-01T00:00:00+00:00", "2026-01-01T00:02:05+00:00") == "2 min 05 s"
    assert words.between("2026-01-01T00:00:00+00:00", None) == ""


def test_every_state_has_a_mark_and_an_unknown_one_has_that_of_what_has_not_begun() -> None:
    assert [words.state_of(name) for name in ("completed", "in_doubt", "cancelled", "never heard of")] == [
        "done",
        "waiting",
        "rejected",
        "pending",
    ]
    assert words.word("in_doubt") == "in doubt"
