"""kill -9 at every commit of a plan of six effects, recover in a new process, and count what came of it.

Goes through the boundaries of each scenario until a run ends without being killed, or through a
seeded sample of them. Prints tables, writes `crash.json`, and exits with 1 when an effect was lost
or doubled, or when a run ended otherwise than it should have.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.crash_trial import Point, Trial, preload, try_point
from benchmarks.receiver import FAULTS, SCENARIOS

SLOTS, MOST = 2, 5000
STORES = (
    ("ledger", {"intent", "done", "failed", "in_doubt", "step"}),
    ("gates", {"gate", "decision"}),
    ("budgets", {"reserve", "settle"}),
    ("saver", {"checkpoint", "writes", "get", "list"}),
    ("runs", {"lease", "status", "end", "title", "plan"}),
    ("memory", {"memory"}),
    ("journal", {"journal"}),
)
SHOWN = ("lost", "duplicated", "wrong", "in_doubt", "sent_again")
COUNTS = (*SHOWN, "in_doubt_repeated")
_KeepGoing = Callable[[Sequence[Trial], int], bool]


def main() -> int:
    """Run the benchmark and return its exit code."""
    options = _options()
    started = time.perf_counter()
    preload()
    chosen = [
        replace(found, in_a_row=options.in_a_row)
        for found in SCENARIOS
        if options.scenario in ("all", found.name)
    ]
    unkilled = [Point(found, None, options.only, options.fault) for found in chosen]
    with tempfile.TemporaryDirectory(prefix="crash-") as folder:
        recorded = side_by_side(unkilled, Path(folder), lambda done, running: True)
        if options.points:
            trials = _sampled(unkilled, recorded, Path(folder), options.points, options.seed)
        else:
            counted = _counted(recorded)
            every = (_every(point, counted[point.scenario.name], Path(folder)) for point in unkilled)
            trials = [trial for found in every for trial in found]
    figures = _figures([trial for trial in trials if trial.killed], recorded + trials)
    figures["seconds"] = round(time.perf_counter() - started, 1)
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    _print(Console(), recorded, trials, figures)
    return int(bool(figures["lost"] or figures["duplicated"] or figures["wrong"]))


def store_of(boundary: str) -> str:
    """Name the store a boundary belongs to; the weightiest one of a group commit."""
    jobs = set(boundary.rpartition(" ")[2].split("+"))
    return next((name for name, of_store in STORES if jobs & of_store), "reads")


def side_by_side(points: Iterable[Point], folder: Path, keep_going: _KeepGoing) -> list[Trial]:
    """Try points in forked processes, as many at a time as there are slots.

    `keep_going` is asked before each, with the trials so far and the number of those under way.
    """
    if threading.active_count() > 1:
        raise RuntimeError("a process with threads must not be forked")
    done: list[Trial] = []
    running: dict[int, Path] = {}
    waiting = iter(points)
    while True:
        while len(running) < SLOTS and keep_going(done, len(running)):
            point = next(waiting, None)
            if point is None:
                break
            place = Path(tempfile.mkdtemp(dir=folder))
            running[_start(point, place)] = place
        if not running:
            return done
        pid, status = os.wait()
        place = running.pop(pid)
        if status:
            raise RuntimeError(f"a trial ended with {os.waitstatus_to_exitcode(status)}")
        content = json.loads((place / "trial.json").read_text())
        done.append(Trial(**{**content, "wrong": tuple(content["wrong"])}))
        shutil.rmtree(place)


def _start(point: Point, place: Path) -> int:
    """Fork a process that tries one point; it has no thread, so it may fork on."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        (place / "trial.json").write_text(json.dumps(asdict(try_point(point, place / "workspace"))))
        code = 0
    finally:
        os._exit(code)


def _every(unkilled: Point, recorded: int, folder: Path) -> list[Trial]:
    """Kill at boundary 1, 2, 3, … until a run ends before it is killed.

    Group commits merge differently from run to run: one that ends before the recorded number of
    boundaries does not end the search.
    """
    points = (_at(unkilled, n) for n in range(1, MOST))
    return side_by_side(
        points, folder, lambda done, running: all(trial.killed or trial.at < recorded for trial in done)
    )


def _sampled(
    unkilled: list[Point], recorded: list[Trial], folder: Path, wanted: int, seed: int
) -> list[Trial]:
    """Kill at a sample of the recorded boundaries.

    A sample is drawn by its place in the run, from 0 to 1, and where a late boundary does not come,
    another is drawn for it.
    """
    counted = _counted(recorded)
    drawn = random.Random(seed)
    places = ((drawn.choice(unkilled), drawn.random()) for _ in range(MOST))
    points = dict.fromkeys(_at(point, 1 + int(x * counted[point.scenario.name])) for point, x in places)

    def keep_going(done: Sequence[Trial], running: int) -> bool:
        return sum(trial.killed for trial in done) + running < wanted

    return side_by_side(points, folder, keep_going)


def _counted(recorded: list[Trial]) -> dict[str, int]:
    return {trial.scenario: trial.boundaries for trial in recorded}


def _at(unkilled: Point, n: int) -> Point:
    return Point(unkilled.scenario, n, unkilled.only, unkilled.fault)


def _figures(killed: list[Trial], judged: list[Trial]) -> dict[str, float]:
    """Add up; runs that were not killed are judged as well, but are no points."""
    figures: dict[str, float] = {"points": len(killed)}
    return figures | {name: sum(_count(trial, name) for trial in judged) for name in COUNTS}


def _count(trial: Trial, name: str) -> int:
    return int(bool(trial.wrong)) if name == "wrong" else int(getattr(trial, name))


def _print(console: Console, recorded: list[Trial], trials: list[Trial], figures: dict[str, float]) -> None:
    killed = [trial for trial in trials if trial.killed]
    stores = [name for name, _ in STORES] + ["reads"]
    whens = [(f"{store}, {when}", store, when) for store in stores for when in ("before", "after")]
    console.print(
        _table(
            "boundary",
            ((label, [t for t in killed if _where(t) == (store, when)]) for label, store, when in whens),
        )
    )
    by_scenario = [
        (f"{whole.scenario}, {whole.boundaries} long", [t for t in killed if t.scenario == whole.scenario])
        for whole in sorted(recorded, key=lambda trial: trial.scenario)
    ]
    console.print(_table("scenario", [*by_scenario, ("all", killed)]))
    for trial in recorded + trials:
        if trial.wrong or trial.lost or trial.duplicated:
            console.print(f"{trial.scenario}, killed at {trial.at}: {trial.boundary}", style="bold red")
            told = [f"{trial.lost} lost, {trial.duplicated} duplicated", *trial.wrong]
            console.print("\n".join(told), markup=False, highlight=False)
    console.print(", ".join(f"{name} {value:g}" for name, value in figures.items()))


def _where(trial: Trial) -> tuple[str, str]:
    return store_of(trial.boundary), "before" if " before " in trial.boundary else "after"


def _table(title: str, rows: Iterable[tuple[str, list[Trial]]]) -> Table:
    table = Table(title, "points", *(name.replace("_", " ") for name in SHOWN))
    for label, trials in rows:
        if trials:
            sums = [sum(_count(trial, name) for trial in trials) for name in SHOWN]
            table.add_row(label, str(len(trials)), *map(str, sums))
    return table


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crash", description=__doc__)
    names = ["all", *(found.name for found in SCENARIOS)]
    parser.add_argument("--points", type=int, default=0, help="how many boundaries to sample; 0 takes all")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    parser.add_argument("--scenario", choices=names, default="all", help="one scenario only")
    parser.add_argument("--only", default="", help="only boundaries whose name holds this text, e.g. done")
    parser.add_argument("--in-a-row", action="store_true", help="one effect after another, in one chain")
    parser.add_argument("--fault", choices=FAULTS, default="none", help="use receivers with a defect")
    parser.add_argument("--json", type=Path, default=Path("crash.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
