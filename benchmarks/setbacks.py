"""Damage the log of a dead process, or put an older store in its place, and see whether anybody is told.

Logs are flipped, cut, zeroed, swapped and lost; files are copied back or restored; of PostgreSQL a base
backup is started, or a standby that was behind is promoted. Effects are counted by a receiver that knows
nothing of runs. Prints tables, writes `setbacks.json`, and exits with 1 when an effect was made again without
a person who was told, or when a store that lacked one was opened without a word.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.counted_person import preload
from benchmarks.counted_shapes import SHAPES
from benchmarks.counted_stage import quick_folder, side_by_side
from benchmarks.setback_trial import NOTHING, ON_SERVER, WAYS, Point, Way, play
from tests.postgres_server import programs

SLOTS, MOST_TRIES = 2, 4
BAD = ("missed", "doubled_unseen", "wrong")
SHOWN = ("lacking", "told", "unsent", "missed", "doubled_unseen", "doubled", "wrong")
Trials = Sequence[Mapping[str, Any]]


def main() -> int:
    """Run the sweep and return its exit code."""
    options, started = _options(), time.perf_counter()
    preload()
    with tempfile.TemporaryDirectory(prefix="setbacks-", dir=quick_folder()) as place:
        folder = Path(place)
        shapes = options.shape or list(SHAPES)
        whole = side_by_side((partial(play, Point(name, "log", 0)) for name in shapes), folder, _all, SLOTS)
        boundaries = {trial["shape"]: trial["boundaries"] for trial in whole}
        trials = _reached(logs(boundaries, options), options.logs, folder)
        trials += _reached(stores(boundaries, options), options.stores, folder)
    figures = {
        "logs": sum(trial["way"] == "log" for trial in trials),
        "stores": sum(trial["way"] != "log" for trial in trials),
        **{name: sum(bool(trial[name]) for trial in trials) for name in SHOWN},
        "effects": sum(trial["happened"] for trial in trials),
        "effects_lacking": sum(len(trial["lacking"]) for trial in trials),
        "seed": options.seed,
        "seconds": round(time.perf_counter() - started, 1),
    }
    bad = [trial for trial in trials if any(trial[name] for name in BAD)]
    options.json.write_text(json.dumps({**figures, "bad": bad}, indent=2) + "\n")
    _print(Console(), trials, bad, figures)
    return int(bool(bad))


def logs(boundaries: Mapping[str, int], options: argparse.Namespace) -> Iterator[Point]:
    """Draw without end where a process dies whose log is damaged, shapes in turn."""
    number = 0
    while True:
        dice = random.Random(f"{options.seed}:log:{number}")
        shape = list(boundaries)[number % len(boundaries)]
        at = dice.randint(1, boundaries[shape])
        yield Point(shape, "log", at, seed=number, marked=not options.unmarked)
        number += 1


def stores(boundaries: Mapping[str, int], options: argparse.Namespace) -> Iterator[Point]:
    """Draw without end how far back stores go, ways and shapes in turn."""
    ways: tuple[Way, ...] = WAYS if programs() else tuple(way for way in WAYS if way not in ON_SERVER)
    number = 0
    while True:
        dice = random.Random(f"{options.seed}:store:{number}")
        shape, way = list(boundaries)[number % len(boundaries)], ways[number % len(ways)]
        at = dice.randint(boundaries[shape] // 2, boundaries[shape])
        since = dice.randint(1, at - 1)
        yield Point(shape, way, at, since=since, seed=number, marked=not options.unmarked)
        number += 1


def _all(results: list[Any], running: int) -> bool:
    return True


def _reached(points: Iterator[Point], count: int, folder: Path) -> list[dict[str, Any]]:
    """Play until so many stores have gone back; a process that died early may have left nothing to damage."""

    def wanted(results: list[Any], running: int) -> bool:
        done = sum(trial["damage"] != NOTHING for trial in results)
        return done + running < count and len(results) < MOST_TRIES * count

    trials = side_by_side((partial(play, point) for point in points), folder, wanted, SLOTS)
    return [trial for trial in trials if trial["damage"] != NOTHING]


def _print(console: Console, trials: Trials, bad: Trials, figures: Mapping[str, Any]) -> None:
    by_way = {way: [trial for trial in trials if trial["way"] == way] for way in ("log", *WAYS)}
    by_shape = {name: [trial for trial in trials if trial["shape"] == name] for name in SHAPES}
    for title, parts in (("way", by_way), ("shape", {**by_shape, "all": list(trials)})):
        table = Table(title, "stores", *(name.replace("_", " ") for name in SHOWN))
        for label, some in parts.items():
            counts = (str(sum(bool(trial[name]) for trial in some)) for name in SHOWN)
            table.add_row(label, str(len(some)), *counts)
        console.print(table)
    for trial in bad[:20]:
        console.print(json.dumps(trial)[:1500], markup=False, highlight=False)
    console.print(json.dumps(figures))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.setbacks", description=__doc__)
    parser.add_argument("--logs", type=int, default=500, help="how many logs are damaged")
    parser.add_argument("--stores", type=int, default=50, help="how many stores are set back")
    parser.add_argument("--shape", action="append", choices=list(SHAPES), help="only these; all without")
    parser.add_argument("--unmarked", action="store_true", help="leave the mark out, to see what it is for")
    parser.add_argument("--seed", type=int, default=0, help="the seed of what is drawn")
    parser.add_argument("--json", type=Path, default=Path("setbacks.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
