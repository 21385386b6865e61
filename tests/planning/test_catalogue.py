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
        'parcels.send [network](to: str, size?: "s"|"m", items?: int[]) -> object: Send a parcel.'
    ]
    assert catalogue_lines([title]) == ["parcels.title(title: str, n?: int) -> int: Read a label."]


def test_a_line_names_the_fields_that_a_call_returns_and_those_inside_of_them(tmp_path: Path) -> None:
    every = catalogue_lines(load_registry(tmp_path))
    lines = {line.partition("(")[0].partition(" ")[0]: line for line in every}
    found = "-> messages[{id, sender, subject, date, text}], count, unreadable[]: Search the user's mailbox"
    assert found in lines["mail.search"]
    assert "-> id, title, body, amount, status, created_at: Create a ticket" in lines["tickets.create"]
    assert "refused[{address, code, said}]" in lines["mail.send"]
    assert "steps: {toolName: str, arguments: object, id: str}[]" in lines["tool.create_chain"]


def test_examples_reach_the_planner(tmp_path: Path) -> None:
    spelled = details([load_registry(tmp_path)["mail.search"]])
    assert spelled[0]["examples"] == ["Search my emails for the invoice from Acme"]


def test_what_is_built_in_takes_bounded_lines_in_the_same_order_each_time(tmp_path: Path) -> None:
    registry = load_registry(tmp_path)
    lines = catalogue_lines(registry)
    assert all(len(line) <= LINE for line in lines)
    assert lines == catalogue_lines(reversed(list(registry)))
    assert "results.read" not in {line.partition("(")[0] for line in lines}
    assert sum(map(len, lines)) < 5_000
    assert "sql.execute [destructive](statement: str" in "\n".join(lines)


def test_an_argument_that_is_called_title_stays() -> None:
    assert title.args_schema["properties"]["title"] == {
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
