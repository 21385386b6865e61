"""A condition stands in words where they can be read in one way only, and else as it was written."""

from __future__ import annotations

import pytest

from planwright.presentation.condition_text import condition_text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("steps.s2.output.amount > 1000", "the amount of step 2 is more than 1000"),
        ("1.5 <= steps.s2.output.amount", "1.5 is at most the amount of step 2"),
        ('steps["in-1"].output.open != null', 'the open of step "in-1" is not null'),
        (
            "size(steps.s1.output.mails) >= 3 && steps.s1.output.mails[0].text.contains('due')",
            "the size of the mails of step 1 is at least 3"
            ' and the text of the first mail of step 1 contains "due"',
        ),
        (
            "steps.s1.output.to == steps.s2.output.to||!steps.s2.output.paid",
            "the to of step 1 is the to of step 2 or the paid of step 2 is false",
        ),
        ("steps.s1.output.text.size() < 9", "the size of the text of step 1 is less than 9"),
        ("steps.s1.output.text == 'a || \"b'", 'the text of step 1 is "a || \\"b"'),
        ("steps.s1.output.paid", "the paid of step 1 is true"),
    ],
)
def test_what_has_one_reading_stands_in_words(source: str, words: str) -> None:
    assert condition_text(source) == words


@pytest.mark.parametrize(
    "source",
    [
        "steps.s1.output.a > 1 && steps.s1.output.b > 1 || steps.s1.output.c > 1",
        "steps.s1.output.lines.exists(l, l.seats > 3)",
        "steps.s1.output.a + 1 > 2",
        "steps.s1.output.a > 2 ? false : true",
        "steps.s1.output.a > 2 // and less than 5",
        r'steps.s1.output.a == "x\" or the b is "',
        'steps.s1.output.a == r"x"',
        'steps.s1.output.a == """x"""',
        'steps.s1.output["a is 1 or the b"] == 2',
        "steps.s1.output.a > 1 &&",
        "steps.s1.output.a > 1e3",
        "steps.s1.output.a.b() > 1",
        "(steps.s1.output.a > 1)",
    ],
)
def test_what_could_be_read_in_another_way_stands_as_it_is(source: str) -> None:
    assert condition_text(source) == f"`{source}`"


def test_no_condition_acts_on_a_terminal() -> None:
    assert condition_text("steps.s1.output.a == 'x\x1b[2J'") == 'the a of step 1 is "x\\u001b[2J"'
    assert condition_text("steps.s1.output.a\n> f(\u202e)") == "`steps.s1.output.a\\n> f(\\u202e)`"
