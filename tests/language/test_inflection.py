"""Words take the s that a sentence needs."""

from __future__ import annotations

import pytest

from planwright.language.inflection import counted, with_s


@pytest.mark.parametrize(
    ("word", "form"),
    [
        ("ticket", "tickets"),
        ("memory", "memories"),
        ("day", "days"),
        ("finish", "finishes"),
        ("fix", "fixes"),
    ],
)
def test_a_word_takes_its_s(word: str, form: str) -> None:
    assert with_s(word) == form


def test_one_is_no_plural() -> None:
    assert (counted(1, "mail"), counted(0, "mail"), counted(2_000, "mail")) == (
        "1 mail",
        "0 mails",
        "2,000 mails",
    )
