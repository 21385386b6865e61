"""An answer to a function reads as it was sent, and has to fit what the function takes."""

from __future__ import annotations

from typing import Any

import pytest

from planwright.domain.errors import GateError
from planwright.records.consent.call_question import QUESTION, check_fits, value_of, words_of

TEXTS = ["Ada", "", " ", "yes", "3", "null", '"quoted"', "[" * 100_000]
VALUES: list[Any] = [*TEXTS, True, None, 3, 2.5, [], ["a"], {"type": "x"}]
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"room": {"type": "integer"}}, "required": ["room"]}


@pytest.mark.parametrize("value", VALUES)
def test_a_value_reads_as_it_was_sent(value: Any) -> None:
    words = words_of(value)
    assert words.strip()
    assert value_of(words) == value
    assert type(value_of(words)) is type(value)


@pytest.mark.parametrize("words", ['{"room": 12}', '{"room": 12, "more": 1}'])
def test_what_fits_is_taken(words: str) -> None:
    check_fits({QUESTION: {"value": "?", "schema": SCHEMA}}, words)


@pytest.mark.parametrize("words", ["12", "Room 12", '{"room": "12"}', "{}"])
def test_what_does_not_fit_is_refused(words: str) -> None:
    with pytest.raises(GateError, match="the answer does not fit"):
        check_fits({QUESTION: {"value": "?", "schema": SCHEMA}}, words)


@pytest.mark.parametrize("card", [{}, {QUESTION: {"value": "?", "schema": None}}])
def test_without_a_schema_all_is_taken(card: dict[str, Any]) -> None:
    check_fits(card, "anything")
