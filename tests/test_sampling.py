"""A plain run plays a sample of a long list, always the same one; a whole run plays all of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sampling import CASES, examples, kept

LONG = range(40)


def played(config: pytest.Config, share: int) -> list[int]:
    """List the cases that a run plays of a function with so many."""
    if config.getoption("whole"):
        return list(LONG)
    return [LONG[-1]] if config.getoption("few") else kept(len(LONG), share)


@pytest.mark.parametrize(
    ("count", "n", "places"),
    [
        (8, 4, [0, 2, 4, 6]),
        (7, 3, [0, 2, 5]),
        (192, 3, [0, 64, 128]),
        (3, 3, [0, 1, 2]),
        (2, 5, [0, 1]),
        (0, 5, []),
    ],
)
def test_a_sample_is_spread_evenly(count: int, n: int, places: list[int]) -> None:
    assert kept(count, n) == places


def test_a_sample_has_as_many_cases_as_it_says_and_none_that_is_not_there() -> None:
    for count in range(200):
        for n in range(1, 200):
            places = kept(count, n)
            assert places == sorted(set(places))
            assert len(places) == min(count, n)
            assert not places or 0 <= places[0] <= places[-1] < count


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", LONG)
def test_a_plain_run_plays_the_sample(case: int, pytestconfig: pytest.Config) -> None:
    assert case in played(pytestconfig, 5)


@pytest.fixture
def make_stage() -> None:
    """Stand for the fixture of this name, with which a case plays a run."""


@pytest.mark.usefixtures("make_stage")
@pytest.mark.parametrize("case", LONG)
def test_a_plain_run_plays_two_cases_of_what_plays_a_run(case: int, pytestconfig: pytest.Config) -> None:
    assert case in played(pytestconfig, CASES)


@pytest.mark.parametrize(
    ("function", "share"),
    [(test_a_plain_run_plays_the_sample, 5), (test_a_plain_run_plays_two_cases_of_what_plays_a_run, CASES)],
)
def test_what_is_selected_is_the_sample_or_with_whole_everything(
    function: Callable[..., None], share: int, request: pytest.FixtureRequest
) -> None:
    """Where this file is selected; that test alone, or this one, says nothing of it."""
    test = f"{function.__name__}["
    names = [item.name for item in request.session.items if item.name.startswith(test)]
    assert names in ([], [f"{test}{place}]" for place in played(request.config, share)])


def test_a_property_has_a_quarter_of_its_examples_but_in_a_whole_run(pytestconfig: pytest.Config) -> None:
    assert examples(400) == (400 if pytestconfig.getoption("whole") else 100)
    assert examples(2) == (2 if pytestconfig.getoption("whole") else 1)


@pytest.mark.long
def test_a_long_test_is_played_in_long_runs(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getoption("long") or pytestconfig.getoption("whole")


@pytest.mark.sweep
def test_a_sweep_is_played_in_whole_runs(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getoption("whole")


def test_a_plain_run_has_no_long_test_and_no_sweep(request: pytest.FixtureRequest) -> None:
    marks = [item.get_closest_marker(name) for item in request.session.items for name in ("long", "sweep")]
    assert not any(marks) or request.config.getoption("whole")
