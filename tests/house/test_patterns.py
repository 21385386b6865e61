"""One long text, of a person, a model or a page, stops no other run: patterns read in linear time."""

from __future__ import annotations

import re

import pytest

from tests.house import patterns


@pytest.mark.parametrize("slow", [r"\s*,", r"[.!?]+\s", r"\{\{.*?\}\}", r"[a-z]+-[a-z]+@"])
def test_a_pattern_that_looks_again_and_again_is_seen(slow: str) -> None:
    assert patterns.steep(re.compile(slow), anywhere=True)


@pytest.mark.parametrize("swift", [r"[,;]|\band\b", r"\{\{[^{}]*\}\}"])
def test_a_pattern_that_looks_once_is_not(swift: str) -> None:
    assert not patterns.steep(re.compile(swift), anywhere=True)


def test_a_pattern_that_is_asked_from_the_start_of_a_text_looks_once() -> None:
    assert not patterns.steep(re.compile(r"\s*,"), anywhere=False)


@pytest.mark.long
def test_no_pattern_of_ours_takes_more_than_linear_time() -> None:
    assert patterns.steep_patterns() == []
