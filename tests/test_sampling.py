"""A plain run plays a sample of a long list, always the same one; a whole run plays all of it."""

from __future__ import annotations

import pytest

from tests.sampling import FEW, examples, kept

LONG = range(40)


def share(config: pytest.Config) -> int:
    """Say how many cases of the function below a run plays that is no whole one."""
    return FEW if config.getoption("few") else 5


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
    assert pytestconfig.getoption("whole") or case in kept(len(LONG), share(pytestconfig))


def test_what_is_selected_is_the_sample_or_with_whole_everything(request: pytest.FixtureRequest) -> None:
    """Where this file is selected; that test alone, or this one, says nothing of it."""
    test = f"{test_a_plain_run_plays_the_sample.__name__}["
    played = [item.name for item in request.session.items if item.name.startswith(test)]
    places = LONG if request.config.getoption("whole") else kept(len(LONG), share(request.config))
    assert played in ([], [f"{test}{place}]" for place in places])


def test_a_property_has_a_quarter_of_its_examples_but_in_a_whole_run(pytestconfig: pytest.Config) -> None:
    assert examples(400) == (400 if pytestconfig.getoption("whole") else 100)
    assert examples(2) == (2 if pytestconfig.getoption("whole") else 1)


@pytest.mark.long
def test_a_long_test_is_played_in_long_runs(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.getoption("long") or pytestconfig.getoption("whole")


def test_a_plain_run_has_no_long_test(request: pytest.FixtureRequest) -> None:
    long = [item for item in request.session.items if item.get_closest_marker("long")]
    assert not long or request.config.getoption("whole")
