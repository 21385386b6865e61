"""Letters that look like others are named on the card."""

from __future__ import annotations

import pytest

from planwright.approvals.lookalikes import MOST, lookalikes


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("kim@acme.example", []),
        ("kim@аcme.example", ['kim@аcme.example: "а" is CYRILLIC SMALL LETTER A']),
        ("https://gοοgle.example/x", ['https://gοοgle.example/x: "ο" is GREEK SMALL LETTER OMICRON']),
        ("http://xn--80ak6aa92e.example", ['http://xn--80ak6aa92e.example: xn--80ak6aa92e is "аррӏе"']),
        ("Grüße aus Köln", []),
        ("notes/plаn.md", ['notes/plаn.md: "а" is CYRILLIC SMALL LETTER A']),
        ("xn--\x00.example", []),
    ],
)
def test_a_letter_in_an_address_is_named_where_it_is_no_plain_one(text: str, marks: list[str]) -> None:
    assert lookalikes({"to": [text]}) == marks


def test_no_more_is_listed_than_can_be_read() -> None:
    assert len(lookalikes({"to": [f"{chr(1072 + n)}@a.example" for n in range(30)]})) == MOST
