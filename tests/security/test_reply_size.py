"""How large a value is as JSON is told without spelling it."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from planwright.security.reply_size import outgrows

SCALARS = st.none() | st.booleans() | st.integers(-9999, 9999) | st.text(alphabet="abc ", max_size=20)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner), max_leaves=30
)


class Row(BaseModel):
    """A row."""

    text: str
    rows: list[str] = []


@given(value=JSON)
def test_it_is_near_the_size_of_the_json(value: object) -> None:
    size = len(json.dumps(value))
    assert not outgrows(value, 3 * size + 8)
    assert outgrows(value, size // 3 - 8)


@pytest.mark.parametrize(
    "large",
    ["x" * 1000, "é" * 1000, b"x" * 1000, ["x" * 90] * 11, [1] * 999, {str(n): n for n in range(200)}]
    + [Row(text="x" * 1000), Row(text="", rows=["x" * 100] * 10), [[[{"a": "x" * 1000}]]], {"x" * 1000: 1}]
    + [("x" * 500, {"x" * 500})],
)
def test_every_kind_of_value_is_looked_into(large: object) -> None:
    assert outgrows(large, 999)
    assert not outgrows(large, 9_999)


def test_a_value_that_is_far_too_large_is_not_looked_through() -> None:
    huge = [list(range(1000))] * 1_000_000
    before = time.process_time()
    assert outgrows(huge, 10_000)
    assert time.process_time() - before < 0.5
