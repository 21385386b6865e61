"""Arguments on a page: what was planned beside what is, whole where a person decides."""

from __future__ import annotations

from planwright.extras.web.view_models.values import ValueRow, real_rows, value_rows
from planwright.extras.web.words import MOST_CHARACTERS

LONG = "a" * (MOST_CHARACTERS + 1)


def test_what_is_known_stands_beside_what_it_comes_from() -> None:
    rows = value_rows({"to": "kim", "text": "{{steps.s1.output.text}}"}, {"text": "Hello", "to": "kim"})
    assert rows == [
        ValueRow("to", "kim", "", long=False),
        ValueRow("text", "‹the text of step 1›", "Hello", long=False),
    ]


def test_what_is_not_known_yet_is_shown_as_planned() -> None:
    (row,) = value_rows({"text": "{{steps.s1.output}}"}, None)
    assert (row.planned, row.value) == ("‹all that step 1 brings›", "")


def test_only_the_beginning_of_a_long_value_is_shown_unless_it_is_decided_over() -> None:
    (short,), (whole,) = real_rows({"text": LONG}), real_rows({"text": LONG}, whole=True)
    assert short.value == f"{LONG[:-1]}… ({len(LONG):,} characters)"
    assert (whole.value, whole.long) == (LONG, True)
    assert value_rows({"text": LONG}, None, whole=True)[0].planned == LONG


def test_a_real_value_that_is_nothing_is_shown() -> None:
    assert [row.value for row in real_rows({"note": None, "count": 0})] == ["null", "0"]
