"""What a plain run leaves out: `pytest --long` plays what takes long, and `pytest --whole` everything.

`@pytest.mark.long` is for a test that keeps a worker busy for about four seconds or more.
`@pytest.mark.sampled(16)` keeps 16 cases of a test function, evenly spread over those selected and always the
same ones. `pytest --few` keeps four cases of every function, so that each is played on one more Python.
`examples(400)` is the number of a property's examples, of which a plain run draws a quarter.
"""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import settings

WHOLE = "whole"
PART = 4  # a plain run draws one example of so many
FEW = 4


def kept(count: int, n: int) -> list[int]:
    """List the places of `n` cases that are spread over `count`, or of all where there are no more."""
    return list(range(count)) if count <= n else [round(place * count / n) for place in range(n)]


def examples(number: int) -> int:
    """Tell how many examples this run draws of a property that has `number` in a whole run."""
    return number if settings.get_current_profile_name() == WHOLE else max(1, number // PART)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--long` and `--whole`."""
    parser.addoption("--long", action="store_true", help="run the tests marked long, and no others")
    parser.addoption("--few", action="store_true", help="run at most four cases of every function")
    parser.addoption("--whole", action="store_true", help="run every test, case of long lists, and example")


def pytest_configure(config: pytest.Config) -> None:
    """Say what the markers mean, and draw all examples in a whole run."""
    config.addinivalue_line("markers", "long: only run with --long or --whole")
    config.addinivalue_line("markers", "sampled(n): without --whole, only n cases of this function are run")
    if config.getoption("whole"):
        settings.register_profile(WHOLE, settings.default)
        settings.load_profile(WHOLE)


@pytest.hookimpl(trylast=True)  # so that what -k and -m select is sampled, not the sample selected from
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is not in the sample, and what is long or what is not, unless the run is a whole one."""
    if config.getoption("whole"):
        return
    long = config.getoption("long")
    most = FEW if config.getoption("few") else None
    chosen = {item for item in sample(items, most) if (item.get_closest_marker("long") is not None) == long}
    left_out = [item for item in items if item not in chosen]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item in chosen]


def sample(items: list[pytest.Item], most: int | None = None) -> set[pytest.Item]:
    """Choose the items to run: of a function that is sampled its share, of others all, or `most`."""
    chosen, cases_of = set(), defaultdict(list)
    for item in items:
        if most is not None or item.get_closest_marker("sampled"):
            cases_of[item.nodeid.partition("[")[0]].append(item)
        else:
            chosen.add(item)
    for cases in cases_of.values():
        marker = cases[0].get_closest_marker("sampled")
        share = min(marker.args[0] if marker else len(cases), most or len(cases))
        chosen.update(cases[place] for place in kept(len(cases), share))
    return chosen
