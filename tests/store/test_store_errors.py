"""Texts that every store can hold; the others are refused by name, with what to do."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from planwright.domain.errors import SetupError
from planwright.store.store_errors import check_storable, store_error


@pytest.mark.parametrize("text", ["", "café", "日本", "🌳", "a\tb\r\n", "\x01\x7f\u2028"])
def test_valid_unicode_is_taken(text: str) -> None:
    check_storable("the request", text)


@pytest.mark.parametrize(
    ("text", "cause", "step"),
    [
        ("a\0b", "the request holds a NUL character", "UTF-16"),
        ("a\ud83eb", r"the request holds half a character (a lone surrogate), in 'a\ud83eb'", "UTF-8"),
        ("\udcff" + "x" * 99, r"in '\udcffxxxxxxxxxxxxxxxxxxxx'", "UTF-8"),
    ],
    ids=["a NUL", "half a character", "the beginning of a long text"],
)
def test_what_no_store_holds_is_refused(text: str, cause: str, step: str) -> None:
    with pytest.raises(SetupError) as refused:
        check_storable("the request", text)
    assert cause in refused.value.cause
    assert step in refused.value.next_step
    assert str(refused.value).isascii()


def test_a_store_whose_holder_stands_still_is_locked() -> None:
    told = store_error(Path("planwright.db"), sqlite3.OperationalError("locking protocol"))
    assert told.cause == "planwright.db is locked by another program"
