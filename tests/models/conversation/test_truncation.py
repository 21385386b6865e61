"""A shortened result fits its limit and stays what it was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from planwright.models.conversation.truncation import shorten
from tests.sampling import examples

LIMIT = 400
_json: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
    max_leaves=30,
)


@settings(max_examples=examples(100))
@given(_json)
def test_what_fits_is_left_alone(value: JsonValue) -> None:
    whole = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(whole) <= LIMIT:
        assert shorten(value, LIMIT) == whole


@settings(max_examples=examples(100))
@given(_json)
def test_nothing_is_much_longer_than_the_limit(value: JsonValue) -> None:
    assert len(shorten(value, LIMIT)) <= LIMIT + 60


@pytest.mark.long
@settings(max_examples=examples(100))
@given(st.dictionaries(st.text(max_size=8), _json, min_size=1))
def test_an_object_stays_valid_json(value: dict[str, JsonValue]) -> None:
    assert isinstance(json.loads(shorten(value, LIMIT)), dict)


def test_a_list_keeps_the_largest_prefix_that_fits() -> None:
    text = shorten(list(range(1000)), LIMIT)
    kept, note = text.split(" [...truncated, showing ")
    shown, whole = note.removesuffix(" items]").split("/")
    assert json.loads(kept) == list(range(int(shown)))
    assert whole == "1000"
    assert len(kept) <= LIMIT < len(json.dumps(list(range(int(shown) + 1)), separators=(",", ":")))


def test_a_text_is_cut_between_words() -> None:
    assert shorten("one two three four five six", 12).startswith("one two [...truncated")


def test_no_part_of_an_image_is_shown() -> None:
    value: JsonValue = {"type": "image", "mime_type": "image/png", "base64": "iVBOR" * 1000}
    text = shorten(value, 600, "123456789012")
    assert "iVBOR" not in text
    assert '"mime_type":"image/png"' in text
    assert "results__read ref=123456789012" in text
