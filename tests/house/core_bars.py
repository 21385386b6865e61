"""Print how far the house is from a core that one can hold in the head: the second table of `make house`.

A bar that is missed stops nothing: it says what is still to be done. None is raised, no count is narrowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tests.house import counts, rooms, stories


@dataclass(frozen=True)
class CoreBar:
    """One measure of the core, with the figures that it may reach at the most."""

    name: str
    """Short name, D1 to D13."""
    statement: str
    """What is counted, in the order of the figures."""
    most: tuple[int, ...]
    """The highest figures that hold the bar."""
    measure: Callable[[], tuple[int, ...]]
    """Counts them."""


def _statements() -> tuple[int, ...]:
    found = counts.store_statements()
    return len(found), len(set(found))


def _doubles() -> tuple[int, ...]:
    return len(counts.doubled_names()), len(counts.doubled_stems()), len(counts.emitters())


def _stories() -> tuple[int, ...]:
    played = stories.stories()
    whole, above = [story.modules for story in played], [story.above for story in played]
    return (*whole, *above, len(played[0].calls))


def _pasts() -> tuple[int, ...]:
    return len(counts.older_programs()), counts.statements_of_schema(), len(rooms.circles())


BARS = (
    CoreBar("D1", "imports of extras by the core", (0,), lambda: (len(counts.extras_imported()),)),
    CoreBar("D2", "statements on the store outside its rooms; files", (0, 0), _statements),
    CoreBar(
        "D3",
        "places that make a verified step, a recorded plan, a run's id; that call judge",
        (1, 1, 1, 3),
        lambda: tuple(len(places) for places in counts.makers().values()),
    ),
    CoreBar(
        "D4",
        "modules entered: request, approve, step; the same above the records; calls for a request",
        (110, 40, 50, 60, 15, 22, 6_000),
        _stories,
    ),
    CoreBar(
        "D6",
        "classes and aliases, then files, of one name; functions tell_, say_, spell_",
        (0, 15, 0),
        _doubles,
    ),
    CoreBar(
        "D9",
        "lines: whole, core; modules; files under 30 lines",
        (56_000, 44_000, 560, 40),
        lambda: tuple(counts.lines().values()),
    ),
    CoreBar("D10", "lines on versions never released; migrations; circles", (3, 1, 0), _pasts),
    CoreBar(
        "D11",
        "files with a list of English words outside language/, prompts/",
        (0,),
        lambda: (len(counts.word_lists()),),
    ),
    CoreBar(
        "D12",
        "rows of covered.toml; lines of CHANGELOG.md; targets of the Makefile",
        (60, 60, 20),
        lambda: tuple(counts.papers().values()),
    ),
)
BY_HAND = {
    "D5": "files and names of a gate's answer: ≤ 8, ≤ 15",
    "D7": "places that decide what is interrupted, how money, units and limits are spelled: 1 each",
    "D8": "20 queries by `db query` answer the same on both engines: tests/extras/postgres/test_queries.py",
    "D13": "files of a new column on the list of runs: ≤ 3",
}


def rows() -> Iterator[tuple[str, str, str, str, str]]:
    """Measure each bar: its name, what it counts, its figures, what they may be, and whether it holds."""
    for bar in BARS:
        figures = bar.measure()
        holds = all(figure <= most for figure, most in zip(figures, bar.most, strict=True))
        yield (
            bar.name,
            bar.statement,
            _spelled(figures),
            f"≤ {_spelled(bar.most)}",
            "held" if holds else "missed",
        )
    for name, statement in BY_HAND.items():
        yield name, statement, "", "", "by hand"


def _spelled(figures: tuple[int, ...]) -> str:
    return " / ".join(f"{figure:,}" for figure in figures)


def main() -> None:
    """Print every bar of the core with its figures."""
    table = Table("", "core", "figures", "bar", "", box=None)
    for row in sorted(rows(), key=lambda row: int(row[0][1:])):
        table.add_row(*row)
    Console(width=200, soft_wrap=True).print(table)


if __name__ == "__main__":
    main()
