"""Secrets are found by value, in any spelling, whole or cut, and nothing else is."""

from __future__ import annotations

import json
import tracemalloc
import unicodedata
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.canaries import ODD, PLAIN, SHAPES, found_in, shown
from planwright.domain.errors import PlanwrightError
from planwright.security.redaction.redactor import Redactor
from planwright.security.redaction.stream import RedactedStream

CLEAN = Redactor({"PLAIN": PLAIN, "ODD": ODD})


@pytest.mark.parametrize("shape", SHAPES)
def test_no_shape_of_a_secret_stays_readable(shape: str) -> None:
    text = f"before {shown(shape)} after"
    assert found_in(text)
    cleaned = CLEAN.text(text)
    assert found_in(cleaned) == []
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")
    assert "[REDACTED PLAIN]" in cleaned
    assert "[REDACTED ODD]" in cleaned


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_secret_with_accents_is_found_in_one_character_or_two(form: Literal["NFC", "NFD"]) -> None:
    redactor = Redactor({"WORDS": "größte-Schlüssel"})
    spelled = unicodedata.normalize(form, "größte-Schlüssel")
    assert redactor.text(f"it is {spelled}.") == "it is [REDACTED WORDS]."


@pytest.mark.parametrize("typed", [PLAIN.upper(), PLAIN.lower()])
def test_a_long_secret_is_found_in_capitals_and_without(typed: str) -> None:
    assert CLEAN.text(f"it is {typed}.") == "it is [REDACTED PLAIN]."


def test_a_short_secret_that_may_be_a_word_is_found_as_it_is() -> None:
    redactor = Redactor({"WORD": "Production"})
    assert redactor.text("production, Production") == "production, [REDACTED WORD]"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sk-canary-",
        "sk-canary-7Qz1x",  # a key of the same kind begins so
        PLAIN[:19],
        PLAIN[-19:],
        "nothing of the kind, though it is long enough to be one: " * 20,
        "c4n4ry",
        "\ud800 half a character",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert CLEAN.text(text) == text


def test_a_key_that_begins_like_a_secret_stays() -> None:
    other = "sk-canary-ANOTHERKEY0123456789abcdefghijkl"
    assert CLEAN.text(other) == other


@pytest.mark.parametrize(
    "between", ["\n> ", "\x1b[0m", "\u00ad", "\u200b", "**", "<wbr>", '" + "', "' + '", "\x1b[01;31m\x1b[K"]
)
@pytest.mark.parametrize("at", [4, 13, 20])
def test_a_secret_that_something_unseen_or_a_line_breaks_in_two_is_found(between: str, at: int) -> None:
    secret = "hunter2-S3cr3t/Key+Value=42"
    text = f"> it is {secret[:at]}{between}{secret[at:]}, he wrote"
    assert Redactor({"KEY": secret}).text(text) == "> it is [REDACTED KEY], he wrote"


def test_values_of_any_depth_are_cleaned_and_keep_their_shape() -> None:
    value = {"a": [PLAIN, 1, None, {PLAIN: ("x", PLAIN)}], "b": True}
    mark = "[REDACTED PLAIN]"
    assert CLEAN.value(value) == {"a": [mark, 1, None, {mark: ("x", mark)}], "b": True}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_document_of_json_stays_json_however_often_it_was_quoted(shape: str) -> None:
    text = shown(shape)
    for _ in range(4):
        text = json.dumps({"note": text, "n": 1})
        cleaned = CLEAN.document(text)
        assert found_in(cleaned) == []
        assert json.loads(cleaned)["n"] == 1


def test_bytes_are_known_to_hold_a_secret() -> None:
    assert CLEAN.in_bytes(b"\x81\xa3key" + PLAIN.encode())
    assert not CLEAN.in_bytes(b"\x81\xa3key" + PLAIN.encode()[:15] + b"\xff")


def test_the_name_of_a_secret_and_of_its_mark_is_told() -> None:
    assert CLEAN.held_in({"a": ["x", {"b": ODD}]}) == "ODD"
    assert CLEAN.held_in({"a": "x"}) is None
    assert CLEAN.blotted_in(["[REDACTED PLAIN]"]) == "PLAIN"
    assert CLEAN.blotted_in(["[REDACTED OTHER]"]) is None


def test_short_values_are_named_and_not_looked_for() -> None:
    redactor = Redactor({"SHORT": "1234567", "EMPTY": ""})
    assert redactor.short == ("SHORT",)
    assert not redactor
    assert redactor.text("1234567") == "1234567"


def test_of_two_secrets_that_begin_alike_the_longer_one_is_found_whole() -> None:
    redactor = Redactor({"A": "begin-alike-0123", "B": "begin-alike-0123-and-more-of-it"})
    assert redactor.text("x begin-alike-0123-and-more-of-it y") == "x [REDACTED B] y"


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from([PLAIN, ODD, "sk-", "s", PLAIN[:25], PLAIN[-25:], " and ", "x"]), max_size=6),
    st.lists(st.integers(1, 9), min_size=1, max_size=12),
)
def test_a_stream_in_any_pieces_says_what_the_whole_text_would(parts: list[str], sizes: list[int]) -> None:
    text, stream, said, at, turn = "".join(parts), RedactedStream(CLEAN), "", 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        said += stream.feed(text[at : at + size])
        assert found_in(said) == []
        at, turn = at + size, turn + 1
    assert found_in(said + stream.rest()) == []


def test_a_stream_holds_nothing_back_that_cannot_become_a_secret() -> None:
    stream = RedactedStream(Redactor({"PLAIN": PLAIN}))
    assert [stream.feed(piece) for piece in ("Hello,", " world.")] == ["Hello,", " world."]
    assert stream.feed("key: sk-ca") == "key: "
    assert stream.feed("n do") == "sk-can do"


@pytest.mark.parametrize("shape", ["as it is", "in JSON", "base64, two in"])
def test_an_exception_stays_the_same_with_other_words(shape: str) -> None:
    first = PlanwrightError(f"no: {shown(shape)}", shown(shape))
    first.__cause__ = first.__context__ = ValueError({"key": shown(shape)})
    with pytest.raises(PlanwrightError) as caught, CLEAN.errors():
        raise first
    error = caught.value
    assert error is first
    said = f"{error} {error.cause} {error.next_step} {error.__cause__} {error.__context__}"
    assert found_in(said) == []


def test_an_exception_whose_words_cannot_be_changed_is_replaced() -> None:
    class Stubborn(Exception):
        def __str__(self) -> str:
            return f"it is {PLAIN}"

    with (
        pytest.raises(PlanwrightError, match=r"it is \[REDACTED PLAIN\]") as caught,
        CLEAN.errors(),
    ):
        raise Stubborn
    assert caught.value.__cause__ is None


def test_a_text_full_of_beginnings_is_read_in_little_memory() -> None:
    redactor, text = Redactor({"LONG": "x" * 30, "OTHER": PLAIN}), "x" * 40_000
    tracemalloc.start()
    try:
        assert redactor.text(f"{text} {PLAIN} {text}") == "[REDACTED LONG] [REDACTED OTHER] [REDACTED LONG]"
        assert tracemalloc.get_traced_memory()[1] < 16_000_000
    finally:
        tracemalloc.stop()
