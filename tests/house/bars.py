"""Print what the house keeps to, and fail where it does not: `make house`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tests.house import entered, fields, mirrored, pages, rooms, signatures, words

MOST_ANY = 250
MOST_ENTERED = {"request": 151, "approve": 57, "step": 57, "failover": 40}
AIMED_AT = "60, 18, 22, 20"  # what was hoped for; why it is not reached is in decision 0047
LEAST_DESCRIBED = 0.9
OLD_STORE = "tests/scenarios/test_older_stores.py"
PUBLIC_NAMES = "tests/test_public_names.py"


@dataclass(frozen=True)
class Bar:
    """One measure of the house."""

    name: str
    """Short name, B1 to B13."""
    statement: str
    """What has to hold."""
    measure: Callable[[], tuple[str, Sequence[str]]]
    """Gives the figure as text, and what breaks the bar, one item each; nothing where it holds."""


def _count(misses: Sequence[str]) -> tuple[str, Sequence[str]]:
    return str(len(misses)), misses


def _described() -> tuple[str, Sequence[str]]:
    every = fields.product_fields()
    share = sum(field.described for field in every) / len(every)
    missing = [f"{field.path.relative_to(rooms.ROOT)}:{field.line}" for field in every if not field.described]
    return f"{100 * share:.1f} %", missing if share < LEAST_DESCRIBED else []


def _words() -> tuple[str, Sequence[str]]:
    banned, doubled = words.banned_names(), words.doubled_names()
    return f"{len(banned)}, {len(doubled)}", [*map(str, banned), *doubled]


def _types() -> tuple[str, Sequence[str]]:
    untyped, anything, asserted = (
        signatures.untyped_updates(),
        signatures.uses_of_any(),
        signatures.asserted_types(),
    )
    over = [f"Any: {len(anything)} times"] if len(anything) > MOST_ANY else []
    return f"{len(untyped)}, {len(anything)}, {len(asserted)}", [*untyped, *over, *asserted]


def _limits(most: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ≤ {limit}" for name, limit in most.items())


def _entered() -> tuple[str, Sequence[str]]:
    counts = entered.counts()
    over = [f"{way}: {count}" for way, count in counts.items() if count > MOST_ENTERED[way]]
    return ", ".join(map(str, counts.values())), over


def _passes(path: str) -> tuple[str, Sequence[str]]:
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", path], capture_output=True, text=True, check=False
    )
    return ("passes", []) if ended.returncode == 0 else ("fails", ended.stdout.splitlines()[-20:])


BARS = (
    Bar(
        "B1",
        "folders: a sentence each, ≤ 24 modules; files ≤ 300, functions ≤ 50 lines",
        lambda: _count([*rooms.folders_without_sentence(), *rooms.too_long()]),
    ),
    Bar("B2", "imports point down; no circle", lambda: _count([*rooms.upward_imports(), *rooms.circles()])),
    Bar("B3", "files of nodes/ are the nodes", lambda: _count(rooms.nodes_without_file())),
    Bar("B4", "fields described: ≥ 90 %", _described),
    Bar("B5", "banned names, public names for two things: 0, 0", _words),
    Bar("B6", "references to absent documents: 0", lambda: _count(rooms.absent_documents())),
    Bar("B7", "functions with ≥ 7 parameters: 0", lambda: _count(signatures.trains())),
    Bar("B8", f"untyped updates, Any, asserts: 0, ≤ {MOST_ANY}, 0", _types),
    Bar(
        "B9",
        f"modules entered: {_limits(MOST_ENTERED)} (aim: {AIMED_AT})",
        _entered,
    ),
    Bar(
        "B10",
        "files of ≥ 40 lines whose tests can be found: all",
        lambda: _count([*mirrored.without_tests(), *mirrored.untrue_names()]),
    ),
    Bar(
        "B11",
        "README: ≤ 180 lines, a picture in the first 40",
        lambda: (str(pages.readme_lines()), pages.readme_problems()),
    ),
    Bar("B12", "a store of former code resumes", lambda: _passes(OLD_STORE)),
    Bar("B13", "public imports, from one place each", lambda: _passes(PUBLIC_NAMES)),
)


REPORTED = {
    "B9": "each model call waits for its turn, each effect rises a mark, a provider's own data is kept with"
    " its message: rooms that came in November 2026, before the merges that halve the way of a request",
    "B12": "there is no former store: 0.1.0 writes the first one (0089), which is kept here from then on",
}
"""Bars that are missed for now, with the reason: they are printed as missed, and stop no other check."""


def main() -> int:
    """Print every bar with its figure; return 1 where one is missed that nobody has reported."""
    table = Table("", "bar", "figure", "missed", box=None)
    missed: list[tuple[Bar, Sequence[str]]] = []
    for bar in BARS:
        figure, misses = bar.measure()
        table.add_row(bar.name, bar.statement, figure, str(len(misses)) if misses else "")
        missed += [(bar, misses)] if misses else []
    console = Console(soft_wrap=True)
    console.print(table)
    for bar, misses in missed:
        console.print(f"\n{bar.name} is missed:", *misses[:20], sep="\n  ", markup=False)
        if bar.name in REPORTED:
            console.print(f"  reported: {REPORTED[bar.name]}", markup=False)
    return 1 if any(bar.name not in REPORTED for bar, _ in missed) else 0


if __name__ == "__main__":
    sys.exit(main())
