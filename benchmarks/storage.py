"""Let write calls fail, once or from there on, and see whether each run goes on when the storage is well.

The faults are made below Python, between SQLite and the kernel; `locked` is another process that holds the
write lock for longer than the busy timeout. Effects are counted by a receiver that knows nothing of runs,
records are read with plain SQLite. Prints tables, writes `storage.json`, and exits with 1 when an effect was
doubled or lost, or when a run did not end as it should.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.counted_person import preload
from benchmarks.counted_shapes import SHAPES
from benchmarks.counted_stage import quick_folder, side_by_side
from benchmarks.storage_faults import FAULTS, Fault, Point, compiler, loaded, start_again
from benchmarks.storage_trial import play

SLOTS = 2
BAD = ("doubled", "lost", "wrong", "unclear")
SHOWN = (*BAD, "doubts", "mixed", "left_in_doubt")
Trials = Sequence[Mapping[str, Any]]


def main() -> int:
    """Run the sweep, in a process with the faults loaded, and return its exit code."""
    options = _options()
    if not compiler():
        print("skipped: there is no C compiler to make the faults with; install gcc or clang")
        return 0
    with tempfile.TemporaryDirectory(prefix="storage-", dir=quick_folder()) as place:
        if not loaded():
            return start_again(Path(place), ["benchmarks.storage", *sys.argv[1:]])
        return sweep(options, Path(place))


def sweep(options: argparse.Namespace, folder: Path) -> int:
    """Measure each shape, disturb it at its points, and write the figures down."""
    started = time.perf_counter()
    preload()
    whole = _played([Point(name, "EIO", 0, lasting=False) for name in options.shape or SHAPES], folder)
    trials = _played(chosen(options, list(every_point(whole))), folder)
    reached = [trial for trial in trials if trial["reached"]]
    figures = {
        "points": len(reached),
        "not_reached": len(trials) - len(reached),
        **{name: count(whole + trials, name) for name in SHOWN},
        "raised": dict(Counter(str(trial["raised"]).split(":")[0] for trial in reached).most_common(9)),
        "left": dict(Counter(str(trial["left"]) for trial in reached)),
        "calls": {trial["shape"]: trial["calls"] for trial in whole},
        "commits": {trial["shape"]: trial["commits"] for trial in whole},
        "seed": options.seed,
        "seconds": round(time.perf_counter() - started, 1),
    }
    bad = [trial for trial in whole + trials if any(trial[name] for name in BAD)]
    options.json.write_text(json.dumps({**figures, "bad": bad}, indent=2) + "\n")
    _print(Console(), reached, bad, figures)
    return int(bool(bad))


def chosen(options: argparse.Namespace, points: list[Point]) -> list[Point]:
    """Choose among all points: a sample, those that were bad the last time, or every n-th."""
    if options.again:
        bad = json.loads(options.again.read_text())["bad"]
        return [Point(one["shape"], one["fault"], one["at"], lasting=one["lasting"]) for one in bad]
    drawn = random.Random(options.seed).sample(points, min(options.points, len(points)))
    return drawn or points[:: options.every]


def every_point(whole: Trials) -> Iterator[Point]:
    """List every write call with every fault, and every commit with a lock; every other one lasts."""
    for trial in whole:
        for number, fault in enumerate(FAULTS):
            most = trial["commits"] if fault == "locked" else trial["calls"]
            for at in range(1, most + 1):
                yield Point(trial["shape"], fault, at, lasting=(at + number) % 2 == 0)


def count(trials: Trials, name: str) -> int:
    """Count the trials of which something is true."""
    return sum(bool(trial[name]) for trial in trials)


def _played(points: Iterable[Point], folder: Path) -> list[dict[str, Any]]:
    return side_by_side((partial(play, point) for point in points), folder, lambda done, running: True, SLOTS)


def _print(console: Console, reached: Trials, bad: Trials, figures: Mapping[str, Any]) -> None:
    faults: tuple[Fault, ...] = FAULTS
    by_fault = {fault: [trial for trial in reached if trial["fault"] == fault] for fault in faults}
    by_shape = {name: [trial for trial in reached if trial["shape"] == name] for name in SHAPES}
    for title, parts in (("fault", by_fault), ("shape", {**by_shape, "all": list(reached)})):
        table = Table(title, "points", *(name.replace("_", " ") for name in SHOWN))
        for label, trials in parts.items():
            table.add_row(label, str(len(trials)), *(str(count(trials, name)) for name in SHOWN))
        console.print(table)
    for trial in bad[:20]:
        row = {name: trial[name] for name in ("shape", "fault", "at", "lasting", *BAD) if trial[name]}
        console.print(json.dumps(row)[:1000], markup=False, highlight=False)
    console.print(json.dumps({name: value for name, value in figures.items() if name != "bad"}))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storage", description=__doc__)
    parser.add_argument("--points", type=int, default=0, help="a sample of so many points, for a short form")
    parser.add_argument("--shape", action="append", choices=list(SHAPES), help="only these; all without")
    parser.add_argument("--every", type=int, default=6, help="which part of all points to take: every n-th")
    parser.add_argument(
        "--again", type=Path, help="only the points that this file, of an earlier sweep, calls bad"
    )
    parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    parser.add_argument("--json", type=Path, default=Path("storage.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
