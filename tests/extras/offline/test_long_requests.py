"""A request that would keep the patterns of the embedded planner busy is not read by them."""

from __future__ import annotations

import pytest

from planwright.extras.offline.clauses import strip
from planwright.extras.offline.planner import MOST_READ, compose


@pytest.mark.parametrize("piece", [" ,", "a ", "1.", "x y, ", "and, "])
def test_a_long_request_is_left_to_a_model(piece: str) -> None:
    assert "a model reads longer ones" in compose(f"Find {piece * MOST_READ}", [])["cannot"]


def test_politeness_behind_a_long_run_of_blanks_is_dropped_by_looking_at_each_once() -> None:
    assert strip(f"find it{', ' * 50_000}please") == "find it"
