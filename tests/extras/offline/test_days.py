"""Days as people write them."""

from __future__ import annotations

import pytest

from planwright.extras.offline.days import named_days
from planwright.extras.offline.draft import NeedsAnswer


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on May 15th, 2024", [("2024-05-15", None)]),
        ("on 3 June 2025", [("2025-06-03", None)]),
        ("the 1st of December 2026", [("2026-12-01", None)]),
        ("am 7.3.2026", [("2026-03-07", None)]),
        ("in February 2028", [("2028-02-01", "2028-02-29")]),
        ("from Monday to next Wednesday", [("monday", None), ("next wednesday", None)]),
        ("2026-11-23 and tomorrow", [("2026-11-23", None), ("tomorrow", None)]),
        ("in the third week", []),
        ("what may I do, and who sat in the sun?", []),
    ],
)
def test_days_are_read_in_their_order(text: str, days: list[tuple[str, str | None]]) -> None:
    assert [(each.start, each.end) for each in named_days(text)] == days


@pytest.mark.parametrize("text", ["on May 15th", "3 June", "31 June 2025", "30.2.2026"])
def test_a_day_that_is_not_whole_is_asked_about(text: str) -> None:
    with pytest.raises(NeedsAnswer):
        named_days(text)
