"""What a run of the tests plays of all that there is; `pytest --whole` plays everything.

A plain run plays what is quick, `--long` what is marked `@pytest.mark.long`: it keeps a worker busy for about
two seconds or more, or varies what a quick test plays. Only a whole run plays a `@pytest.mark.sweep`.
`@pytest.mark.sampled(16)` keeps 16 cases of a test function, evenly spread over those selected and always the
same ones. Of one whose cases play a run each, two are kept where nothing else is said, on PostgreSQL of each.
`pytest --few` keeps one case of every quick function, the last, so that it is played on one more Python: of
those that play runs every third, and none that starts processes.
`examples(400)` is the number of a property's examples, of which a plain run draws a quarter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings

WHOLE = "whole"
PART = 4  # a plain run draws one example of so many
CASES = 2
FEW = 3  # on one more Python, one function that plays runs of so many
RUNS = frozenset(("desk", "make_agent", "make_stage", "scene"))
"""Fixtures with which each case plays a run, or starts a command."""
PROCESSES = frozenset(("desk", "mcp_servers", "own_server", "served_desk", "server"))
"""Fixtures that start processes, which load what they need in the same way on each Python."""


def kept(count: int, n: int) -> list[int]:
    """List the places of `n` cases that are spread over `count`, or of all where there are no more."""
    return list(range(count)) if count <= n else [round(place * count / n) for place in range(n)]


def examples(number: int) -> int:
    """Tell how many examples this run draws of a property that has `number` in a whole run."""
    return number if settings.get_current_profile_name() == WHOLE else max(1, number // PART)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--long`, `--few` and `--whole`."""
    parser.addoption("--long", action="store_true", help="run the tests marked long, and no others")
    parser.addoption("--few", action="store_true", help="run the last case of every quick function")
    parser.addoption("--whole", action="store_true", help="run every test, case of long lists, and example")


def pytest_configure(config: pytest.Config) -> None:
    """Say what the markers mean, and draw all examples in a whole run."""
    config.addinivalue_line("markers", "long: only run with --long or --whole")
    config.addinivalue_line("markers", "sweep: only run with --whole")
    config.addinivalue_line("markers", "sampled(n): without --whole, only n cases of this function are run")
    if config.getoption("whole"):
        settings.register_profile(WHOLE, settings.default)
        settings.load_profile(WHOLE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what cannot have a long test, where only those are run: most of the time of collecting."""
    if config.getoption("long") and not config.getoption("whole") and collection_path.suffix == ".py":
        return "mark.long" not in collection_path.read_text("utf-8") or None
    return None


@pytest.hookimpl(trylast=True)  # so that what -k and -m select is sampled, not the sample selected from
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what this run does not play, unless it is a whole one."""
    if config.getoption("whole"):
        return
    long, few = config.getoption("long"), config.getoption("few")
    played = [item for item in items if _is_long(item) == long and item.get_closest_marker("sweep") is None]
    chosen = fewest(played) if few else sample(played)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def sample(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Choose the items to run: of each function its share."""
    return {cases[place] for cases in _functions(items) for place in kept(len(cases), _share(cases))}


def fewest(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Choose the last case of each function, and of those that play runs every third."""
    last = [cases[-1] for cases in _functions(items) if not PROCESSES.intersection(_fixtures(cases[-1]))]
    runs = [item for item in last if RUNS.intersection(_fixtures(item))]
    return set(last) - set(runs) | set(runs[::FEW])


def _functions(items: Sequence[pytest.Item]) -> Sequence[Sequence[pytest.Item]]:
    cases_of = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        cases_of[item.nodeid.partition("[")[0]].append(item)
    return list(cases_of.values())


def _share(cases: Sequence[pytest.Item]) -> int:
    """Tell how many cases of a function a run plays that is no whole one."""
    if cases[0].config.getoption("postgres"):
        return CASES
    if marker := cases[0].get_closest_marker("sampled"):
        return int(marker.args[0])
    return CASES if RUNS.intersection(_fixtures(cases[0])) else len(cases)


def _is_long(item: pytest.Item) -> bool:
    return item.get_closest_marker("long") is not None


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else ()
