"""What came of a step, on one line."""

from __future__ import annotations

import pytest

from planwright.cli.session.step_records import CARRIED, shortened
from planwright.presentation.brought import brought_text


@pytest.mark.parametrize(
    ("output", "used", "text"),
    [
        ({"value": "EUR 4,310.50", "all": ["x"]}, {}, "EUR 4,310.50"),
        ({"tickets": [{}, {}], "count": 2}, {}, "2 tickets"),
        ({"rows": [{}]}, {}, "1 row"),
        ({"id": 7, "title": "t", "due": None}, {"title": "t"}, "id 7"),
        ({"summary": "a\n  b"}, {}, "a b"),
        ([1, 2], {}, "2 items"),
        (None, {}, ""),
        ({"text": "\x1b[2K\u202e"}, {}, "\\x1b[2K\\u202e"),
    ],
)
def test_what_a_step_brought_is_told_in_few_words(output: object, used: dict[str, object], text: str) -> None:
    assert brought_text(output, used) == text


def test_a_long_text_is_cut_between_words() -> None:
    cut = shortened(brought_text({"text": "word " * 100}, {}), CARRIED)
    assert len(cut) <= CARRIED
    assert cut.endswith("word…")
    assert shortened("one two", 7) == "one two"
