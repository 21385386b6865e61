"""What is wrong with the arguments of a call that no record can hold, told so that a model can mend it."""

from __future__ import annotations

import pytest

from planwright.models.conversation.call_arguments import DEEPEST, flaw_of

DEEP: list[object] = []
for _ in range(DEEPEST):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (2**89 - 1, "the argument n cannot be stored: Integer exceeds 64-bit range"),
        ("\ud800", "the argument n cannot be stored: "),
        (float("nan"), "the argument n cannot be stored: a number that JSON does not have"),
        (DEEP, f"the argument n cannot be stored: nested deeper than {DEEPEST} levels"),
    ],
    ids=["huge", "half a letter", "NaN", "deep"],
)
def test_the_argument_that_cannot_be_stored_is_named(value: object, why: str) -> None:
    assert flaw_of({"word": "fine", "n": value, "last": 1}).startswith(why)


@pytest.mark.parametrize("args", [{}, {"n": 2**63, "word": "für", "more": [[None]]}], ids=["none", "some"])
def test_arguments_that_can_be_stored_have_no_flaw(args: dict[str, object]) -> None:
    assert flaw_of(args) == ""


def test_a_name_that_is_half_a_letter_is_shown_as_what_it_is_not() -> None:
    assert flaw_of({"\ud800": 1}).startswith("the argument ? cannot be stored: ")
    assert flaw_of({"": "\ud800"}).startswith("the argument  cannot be stored: ")
