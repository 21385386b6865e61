"""Where steps stand: never before what they wait for, never two in one place, always the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planwright.extras.web.drawing.layout import lay_out

NAMES = [f"s{n}" for n in range(12)]
GRAPHS = st.dictionaries(
    st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, "gone"]), max_size=4), max_size=12
)


@given(GRAPHS)
def test_steps_stand_after_what_they_wait_for_and_nowhere_twice(after: dict[str, list[str]]) -> None:
    layout = lay_out(after)
    assert layout.places.keys() == after.keys()
    assert len(set(layout.places.values())) == len(after)
    for (source, target), line in layout.lines.items():
        assert source in after[target]
        assert (line[0], line[-1]) == (layout.places[source], layout.places[target])
        assert [place.column for place in line] == list(range(line[0].column, line[-1].column + 1))
    assert all(place.row < layout.rows and place.column < layout.columns for place in layout.places.values())
    assert lay_out(after) == layout


def test_a_line_that_passes_a_column_has_a_place_of_its_own_there() -> None:
    layout = lay_out({"a": [], "b": ["a"], "c": ["a", "b"]})
    (passing,) = layout.lines["a", "c"][1:-1]
    assert passing.column == 1
    assert passing != layout.places["b"]


def test_without_circles_every_need_is_a_line() -> None:
    after = {f"s{n}": [f"s{m}" for m in range(n)] for n in range(6)}
    layout = lay_out(after)
    assert len(layout.lines) == 15
    assert [layout.places[f"s{n}"].column for n in range(6)] == [0, 1, 2, 3, 4, 5]
