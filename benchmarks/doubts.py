"""Blind effects killed between send and answer, in every shape of a run; a person says of each what is true.

Prints a table, writes `doubts.json`, and exits with 1 when an effect was lost or doubled, or when a run ended
otherwise than it should have. With a person who is `sure` that all has happened, or `hasty` to say that
nothing has, it has to fail.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.crash_trial import preload
from benchmarks.doubt_trial import PEOPLE, SHAPES, Death, Job, Person, Trial, try_job

TRIALS, SLOTS, MOST = 500, 2, 4
COUNTS = ("killed", "asked", "lost", "doubled")


def main() -> int:
    """Run the benchmark and return its exit code."""
    options = _options()
    started = time.perf_counter()
    preload()
    jobs = list(drawn(options.trials, options.seed, options.person))
    with tempfile.TemporaryDirectory(prefix="doubts-") as folder:
        trials = side_by_side(jobs, Path(folder))
    figures: dict[str, float] = {"trials": len(trials)}
    figures |= {name: sum(getattr(trial, name) for trial in trials) for name in COUNTS}
    figures["wrong"] = sum(bool(trial.wrong) for trial in trials)
    figures["seconds"] = round(time.perf_counter() - started, 1)
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    _print(Console(), jobs, trials, figures)
    return int(bool(figures["lost"] or figures["doubled"] or figures["wrong"]))


def drawn(count: int, seed: int, person: Person) -> Iterator[Job]:
    """Draw jobs, the shapes in turn: up to four effects, most of them killed, and some recoveries."""
    chance = random.Random(seed)
    ways: tuple[Death | None, ...] = ("before", "after", "before", "after", None)
    for number in range(count):
        deaths = [chance.choice(ways) for _ in range(chance.randint(1, MOST))]
        if not any(deaths):
            deaths[0] = "after"
        dies_at = chance.randint(1, 60) if chance.random() < 1 / 3 else None
        yield Job(SHAPES[number % len(SHAPES)], tuple(deaths), dies_at, person)


def side_by_side(jobs: Sequence[Job], folder: Path) -> list[Trial]:
    """Try the jobs in forked processes, one after another in each of them."""
    workers = [_start(jobs, slot, folder) for slot in range(SLOTS)]
    for pid in workers:
        if code := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
            raise RuntimeError(f"a worker ended with {code}")
    found = [json.loads((folder / f"{number}.json").read_text()) for number in range(len(jobs))]
    return [Trial(**one) for one in found]


def _start(jobs: Sequence[Job], slot: int, folder: Path) -> int:
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    code = 1
    try:
        for number in range(slot, len(jobs), SLOTS):
            trial = try_job(jobs[number], folder / str(number))
            (folder / f"{number}.json").write_text(json.dumps(asdict(trial)))
        code = 0
    finally:
        os._exit(code)


def _print(console: Console, jobs: Sequence[Job], trials: Sequence[Trial], figures: dict[str, float]) -> None:
    table = Table("shape", "trials", *COUNTS, "wrong")
    for shape in SHAPES:
        mine = [trial for trial in trials if trial.shape == shape]
        sums = [sum(getattr(trial, name) for trial in mine) for name in COUNTS]
        table.add_row(shape, str(len(mine)), *map(str, sums), str(sum(bool(trial.wrong) for trial in mine)))
    console.print(table)
    for job, trial in zip(jobs, trials, strict=True):
        if trial.wrong or trial.lost or trial.doubled:
            console.print(f"{job}", style="bold red", markup=False, highlight=False)
            told = [f"{trial.lost} lost, {trial.doubled} doubled", *trial.wrong]
            console.print("\n".join(told), markup=False, highlight=False)
    console.print(", ".join(f"{name} {value:g}" for name, value in figures.items()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doubts", description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS, help="how many runs")
    parser.add_argument("--seed", type=int, default=0, help="the seed of what is drawn")
    parser.add_argument("--person", choices=PEOPLE, default="truthful", help="who is asked")
    parser.add_argument("--json", type=Path, default=Path("doubts.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
