"""One run, two processes: stopped and woken owners, races, owners nobody can see, owners that seem dead.

Everything is seen from outside: effects are counted by a receiver that knows nothing of runs, records are
read with plain SQLite. Prints tables, writes `owners.json`, and exits with 1 when an effect was doubled or
lost, when an owner was robbed, or when one that had lost its run changed anything.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import namespaces, owners_races, owners_strangers, owners_wakes
from benchmarks.counted_person import preload
from benchmarks.counted_stage import quick_folder, side_by_side

SLOTS = 2
EIGHTS = 5  # every fifth race is one of eight processes
BAD = ("doubled", "lost", "robbed", "stale_rows", "stale_bytes", "late_checkpoints", "wrong")
Results = Sequence[Mapping[str, Any]]


def main() -> int:
    """Run the sweep and return its exit code."""
    options = _options()
    started = time.perf_counter()
    preload()
    with tempfile.TemporaryDirectory(prefix="owners-", dir=quick_folder()) as place:
        folder = Path(place)
        wakes = wake_up(options.wakes, options.seed, folder)
        parts: dict[str, Results] = {
            **{
                f"woken {order}": [w for w in wakes if w["draw"]["order"] == order]
                for order in owners_wakes.ORDERS
            },
            "races of two": race(options.races - options.races // EIGHTS, 2, folder),
            "races of eight": race(options.races // EIGHTS, 8, folder),
            **meet(options.strangers, options.blocked, folder),
        }
    figures = {"seed": options.seed, **{name: figures_of(part) for name, part in parts.items()}}
    figures["seconds"] = round(time.perf_counter() - started, 1)
    bad = [trial for part in parts.values() for trial in part if any(trial.get(name) for name in BAD)]
    figures["bad"] = bad
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    _print(Console(), parts, bad)
    return int(bool(bad))


def wake_up(wanted: int, seed: int, folder: Path) -> Results:
    """Draw trials until in enough of them a process that held its run was stopped, robbed of it and woken."""

    def more(done: Sequence[Any], running: int) -> bool:
        return sum(bool(trial["taken"]) for trial in done) + running < wanted

    return side_by_side(owners_wakes.works(seed), folder, more, SLOTS) if wanted else []


def race(races: int, racers: int, folder: Path) -> Results:
    """Race, in groups."""
    groups = side_by_side(owners_races.works(races, racers), folder, lambda done, running: True, SLOTS)
    return [trial for group in groups for trial in group]


def meet(strangers: int, blocked: int, folder: Path) -> dict[str, Results]:
    """Let owners meet that do not see each other, and owners that hold up their loop."""
    parts: dict[str, Results] = {}
    counts = {"alive": strangers // 2, "dead": strangers - strangers // 2, "blocked": blocked}
    if strangers and (refusal := namespaces.permitted()):
        print(f"skipped: owners in two PID namespaces, as {refusal}")
        counts = {"blocked": blocked}
    kinds: tuple[owners_strangers.Kind, ...] = ("alive", "dead", "blocked")
    for kind in kinds:
        if counts.get(kind):
            works = owners_strangers.works(kind, counts[kind])
            name = "a blocked loop" if kind == "blocked" else f"another namespace, {kind}"
            parts[name] = side_by_side(works, folder, lambda done, running: True, SLOTS)
    return parts


def figures_of(part: Results) -> dict[str, Any]:
    """Add up one part."""
    names = ("stopped", "taken", "undecided", "mid_commit", "mixed", "left_in_doubt", *BAD)
    counted = {name: sum(bool(trial.get(name)) for trial in part) for name in names if _has(part, name)}
    summed = {
        name: sum(trial[name] for trial in part)
        for name in ("worked", "refused", "read", "tried")
        if _has(part, name)
    }
    woken = Counter(str(trial["woken"]).split(":")[0] for trial in part if trial.get("taken"))
    return {"trials": len(part), **counted, **summed, **({"woken": dict(woken)} if woken else {})}


def _has(part: Results, name: str) -> bool:
    return bool(part) and name in part[0]


def _print(console: Console, parts: Mapping[str, Results], bad: Results) -> None:
    table = Table("owners", "trials", "taken", "refused", "undecided", "bad")
    for label, part in parts.items():
        figures = figures_of(part)
        counts = (str(figures.get(name, "")) for name in ("trials", "taken", "refused", "undecided"))
        wrong = ", ".join(f"{name} {figures[name]}" for name in BAD if figures.get(name))
        table.add_row(label, *counts, wrong.replace("_", " ") or "0")
    console.print(table)
    for trial in bad[:20]:
        figures = {name: trial[name] for name in (*BAD, "draw", "kind", "woken") if trial.get(name)}
        console.print(json.dumps(figures)[:1000], markup=False, highlight=False)
    console.print(f"{sum(map(len, parts.values()))} trials, {len(bad)} bad")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.owners", description=__doc__)
    parser.add_argument(
        "--wakes", type=int, default=1000, help="how many stopped owners lose their run and wake"
    )
    parser.add_argument("--races", type=int, default=1000, help="how many races; every fifth is one of eight")
    parser.add_argument("--strangers", type=int, default=100, help="how many owners in two PID namespaces")
    parser.add_argument("--blocked", type=int, default=20, help="how many runs that block their event loop")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the moments")
    parser.add_argument("--json", type=Path, default=Path("owners.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
