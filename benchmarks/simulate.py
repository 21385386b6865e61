"""Runs in time that does not pass, on disks that fail, by workers that die: in an order that a seed decides.

Prints tables, writes `simulate.json`, `clock.json` with `--clocks`, or `weeks.json` with `--weeks`, and exits
with 1 when anything was wrong. `--seed N` plays one seed and prints its trace.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.counted_stage import quick_folder
from benchmarks.simulated_trial import Played, play
from benchmarks.simulated_weeks import play_weeks

SEEDS, OF_CLOCKS = 2000, 200
KINDS = {
    "clocks": "trouble nothing but the clock",
    "weeks": "sessions and schedules by clocks that are a week off",
}


def main() -> int:
    """Play the seeds and return the exit code."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="simulate-", dir=quick_folder()) as folder:
        if options.seed is not None:
            played = _one(options.seed, Path(folder) / "workspace", options.kind)
            print(*played.trace, played.digest, played.counts, played.spans, sep="\n")
            return int(bool(played.wrong))
        began = time.perf_counter()
        count = options.seeds or (SEEDS if options.kind == "simulate" else OF_CLOCKS)
        work = partial(_play, folder=Path(folder), kind=options.kind)
        rows = _spread(work, range(options.first, options.first + count), options.processes)
    figures = figures_of(rows)
    figures["seconds"] = round(time.perf_counter() - began, 1)
    place = options.json or Path("clock.json" if options.kind == "clocks" else f"{options.kind}.json")
    place.write_text(json.dumps(figures, indent=2) + "\n")
    _print(Console(), figures)
    return int(bool(figures["wrong"]))


def _spread(work: Callable[[int], Played], seeds: range, processes: int) -> list[Played]:
    """Play seeds in new processes, or, where one is enough, in this one."""
    if processes == 1:
        return [work(seed) for seed in seeds]
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=100) as pool:
        return list(pool.imap(work, seeds, chunksize=10))


def _one(seed: int, folder: Path, kind: str) -> Played:
    return play_weeks(seed, folder) if kind == "weeks" else play(seed, folder, clocks=kind == "clocks")


def _play(seed: int, folder: Path, kind: str) -> Played:
    played = _one(seed, folder / str(seed), kind)
    played.trace.clear()
    shutil.rmtree(folder / str(seed))
    return played


def figures_of(rows: Sequence[Played]) -> dict[str, Any]:
    """Sum seeds up, by what was asked, how it ended, what was done to it and what is wrong."""
    counts = Counter[str]()
    for row in rows:
        counts.update(row.counts)
    return {
        "seeds": len(rows),
        "first": rows[0].seed,
        "by_way": {
            way: dict(Counter(row.status for row in rows if row.way == way))
            for way in sorted({row.way for row in rows})
        },
        "steps": sum(row.steps for row in rows),
        "workers": sum(row.workers for row in rows),
        "effects": sum(row.effects for row in rows),
        "simulated_hours": round(sum(row.seconds for row in rows) / 3600, 1),
        "counts": dict(sorted(counts.items())),
        "most": {name: max(row.spans.get(name, 0) for row in rows) for name in rows[0].spans},
        "wrong": {str(row.seed): row.wrong for row in rows if row.wrong},
    }


def _print(console: Console, figures: dict[str, Any]) -> None:
    statuses = sorted({status for ends in figures["by_way"].values() for status in ends})
    table = Table("asked for", *statuses, title=f"{figures['seeds']} seeds")
    for way, ends in figures["by_way"].items():
        table.add_row(way, *(str(ends.get(status, 0)) for status in statuses))
    console.print(table)
    for sums in (figures["counts"], figures["most"]):
        console.print(", ".join(f"{what}: {count}" for what, count in sums.items()))
    for seed, wrong in figures["wrong"].items():
        console.print(f"[red]seed {seed}[/]: {'; '.join(wrong)}")
    console.print(f"wrong: {len(figures['wrong'])} of {figures['seeds']} seeds, {figures['seconds']} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, help=f"how many ({SEEDS}; {OF_CLOCKS} of clocks)")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="play this seed only, and print its trace")
    kinds = parser.add_mutually_exclusive_group()
    for kind, text in KINDS.items():
        kinds.add_argument(f"--{kind}", action="store_const", dest="kind", const=kind, help=text)
    parser.set_defaults(kind="simulate")
    parser.add_argument("--processes", type=int, default=2, help="how many share the seeds; 1 starts none")
    parser.add_argument("--json", type=Path, help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
