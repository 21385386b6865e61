"""The phrase on the card of a step is the first sentence of its capability, and short."""

from __future__ import annotations

import pytest

from planwright.approvals.step_phrases import LONGEST, first_sentence


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("Create a ticket.", "Create a ticket"),
        ("List tickets; where there is none, none.", "List tickets"),
        ("Read a file.\nOnly text files.", "Read a file"),
        ("Open v1.2 of a page", "Open v1.2 of a page"),
        ("  two\n words  ", "two words"),
    ],
)
def test_the_first_sentence_is_taken(description: str, expected: str) -> None:
    assert first_sentence(description) == expected


def test_a_description_without_an_end_is_cut() -> None:
    cut = first_sentence("word " * 200)
    assert len(cut) <= LONGEST
    assert cut.endswith("word…")
