"""The catalogue of a planner: one bounded line a capability, the same bytes each time, more for what fits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from planwright.capabilities.declaration import capability
from planwright.capabilities.registry import load_registry
from planwright.planning.catalogue import (
    DETAILS,
    LINE,
    catalogue_lines,
    detailed,
    details,
    without_titles,
)


@capability("parcels.send", mode="network", tags=("parcel",))
def send(to: str, size: Literal["s", "m"] = "s", items: list[int] = []) -> dict[str, str]:  # noqa: B006
    """Send a parcel."""
    return {"to": to}


@capability("parcels.title", mode="read_only")
def title(title: Annotated[str, Field(description="what is on it")], n: int | None = None) -> int:
    """Read a label."""
    return len(title) + (n or 0)


def test_a_line_says_name_mode_arguments_results_and_what_it_does() -> None:
    assert catalogue_lines([send]) == [
        'parcels.send [network](to: str, size?: "s"|"m", items?: int[]): Send a parcel.'
    ]
    assert catalogue_lines([title]) == ["parcels.title(title: str, n?: int): Read a label."]


def test_what_is_built_in_takes_bounded_lines_in_the_same_order_each_time(tmp_path: Path) -> None:
    registry = load_registry(tmp_path)
    lines = catalogue_lines(registry)
    assert all(len(line) <= LINE for line in lines)
    assert lines == catalogue_lines(reversed(list(registry)))
    assert "results.read" not in {line.partition("(")[0] for line in lines}
    assert sum(map(len, lines)) < 5_000
    assert "sql.execute [destructive](statement: str" in "\n".join(lines)


def test_an_argument_that_is_called_title_stays() -> None:
    assert without_titles(title.args_schema)["properties"]["title"] == {
        "type": "string",
        "description": "what is on it",
    }


def test_only_what_fits_and_has_more_to_say_is_spelled_in_full(tmp_path: Path) -> None:
    surface = [send, title, *load_registry(tmp_path)]
    assert [each.name for each in detailed(surface, ["parcels.title", "parcels.send"])] == [
        "parcels.title",
        "parcels.send",
    ]
    assert details([title])[0]["name"] == "parcels.title"
    spelled = details(surface * 9)
    assert len(str(spelled)) <= DETAILS
