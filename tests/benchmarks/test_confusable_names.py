"""Names that are drawn, folded or spaced alike are other names, wherever one lets something pass."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.confusable_names import COMPARISONS, MANY, NAMES, Pair, equal, pairs


@pytest.fixture(scope="module")
def all_pairs() -> list[Pair]:
    """The pairs, which are made once, and not when the tests are collected."""
    return pairs()


@pytest.fixture(scope="module")
def taken_for_one(all_pairs: list[Pair]) -> list[tuple[str, Pair]]:
    """The pairs that any comparison takes for one name."""
    return list(equal(all_pairs))


@pytest.mark.long
@pytest.mark.parametrize("what", COMPARISONS)
def test_no_two_names_of_2_000_pairs_are_one(what: str, taken_for_one: list[tuple[str, Pair]]) -> None:
    assert [pair for which, pair in taken_for_one if which == what] == []


def test_the_pairs_are_2_000_of_thirteen_ways(all_pairs: list[Pair]) -> None:
    ways = Counter(pair.how for pair in all_pairs)
    assert (len(all_pairs), len(set(all_pairs)), len(ways)) == (MANY, MANY, 13)
    assert all(pair.name != pair.other for pair in all_pairs)


@pytest.mark.parametrize("what", COMPARISONS)
def test_a_name_is_itself(what: str) -> None:
    assert any(COMPARISONS[what](name, name) for name in NAMES)


def test_a_comparison_that_folds_more_is_seen(all_pairs: list[Pair]) -> None:
    def loose(name: str, other: str) -> bool:
        return name.casefold() == other.casefold()

    found = [pair for pair in all_pairs if loose(pair.name, pair.other)]
    assert {pair.how for pair in found} >= {"case folding"}
    assert Pair("case folding", "ada@strasse.example", "ada@straße.example") in found
