"""The table of docs/compatibility.md says what the tests of this folder show."""

from __future__ import annotations

from tests.documented.table import GUIDE, HEADING, behaviours, written


def test_the_guide_has_every_behaviour() -> None:
    section = HEADING + GUIDE.read_text("utf-8").partition(HEADING)[2]
    assert section == written(), "write it anew: python -m tests.documented.table"


def test_there_are_eighty_and_each_is_said_in_a_sentence() -> None:
    listed = list(behaviours())
    assert len(listed) >= 80
    assert all(item.sentence.endswith(".") for item in listed)
    assert len({item.sentence for item in listed}) == len(listed)
