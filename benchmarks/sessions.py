"""Sessions of many shapes, whose processes are killed at counted boundaries; others go on with them.

A fifth are killed short of a checkpoint of the graph, when all before it is on record. Effects are counted by
a receiver outside. With `--postgres` the store is a schema of a server, and a quarter of the points each do
one of these, end all sessions of the store, or kill the server. Every trial is written to
a `.jsonl` as it ends: the same command goes on where it was broken off. Writes `sessions.json`, and exits
with 1 when an effect was lost or doubled, or anything ended otherwise than it should have.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.table import Table

from benchmarks.counted_person import preload
from benchmarks.counted_stage import quick_folder, side_by_side
from benchmarks.session_shapes import SESSIONS
from benchmarks.sessions_trial import try_point
from benchmarks.strikes import Point, Strike
from tests.postgres_server import PostgresServer

SLOTS, EVERY, MOST = 2, 50, 20_000
BAD = ("lost", "doubled", "left_in_doubt", "wrong")
STRIKES: tuple[Strike, ...] = get_args(Strike)
Trials = Sequence[Mapping[str, Any]]


def main() -> int:
    """Run the sweep and return its exit code."""
    options = _options()
    preload()
    server = PostgresServer.start() if options.postgres else None
    address = server.url("") if server else ""
    wanted = _wanted(options)
    try:
        trials = [trial for strike in wanted for trial in sweep(options, strike, wanted[strike], address)]
    finally:
        if server is not None:
            server.remove()
    figures = figures_of(trials)
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    for strike in wanted:
        _record_of(options, strike).unlink(missing_ok=True)
    _print(Console(), trials, figures)
    return int(any(figures[name] for name in BAD))


def _wanted(options: argparse.Namespace) -> dict[Strike, int]:
    """Say how many sessions are to be struck in each way."""
    if options.only or options.postgres:
        chosen: Sequence[Strike] = options.only or STRIKES
        return dict.fromkeys(chosen, -(-options.points // len(chosen)))
    return {"process": options.points, "checkpoint": options.points // 4}


def sweep(options: argparse.Namespace, strike: Strike, wanted: int, address: str) -> Trials:
    """Play every shape without a strike, then strike at a sample of what boundaries there were."""
    record = _record_of(options, strike)
    trials = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
    shapes = [name for name in SESSIONS if not options.shape or name in options.shape]
    with tempfile.TemporaryDirectory(prefix="sessions-", dir=quick_folder()) as place:
        whole = [Point(name, None, None, strike, address) for name in shapes]
        whole = [point for point in whole if not any(_is_of(trial, point) for trial in trials)]
        trials += _played(whole, record, Path(place), len(whole), strike, [])
        points = _drawn(trials, shapes, options.seed, strike, address)
        left = [point for point in points if not any(_is_of(trial, point) for trial in trials)]
        trials += _played(left, record, Path(place), wanted, strike, trials)
    return trials


def _record_of(options: argparse.Namespace, strike: Strike) -> Path:
    """Name the file that trials are written to as they end, until all have."""
    path: Path = options.json
    return path.with_name(f"{path.stem}-{strike}-{options.seed}.jsonl")


def _played(
    points: Sequence[Point], record: Path, folder: Path, wanted: int, strike: Strike, before: Trials
) -> Trials:
    """Play points until so many strikes have hit, those `before` included."""
    hit, began = sum(bool(trial["strikes"]) for trial in before), time.monotonic()
    counted = [0]

    def more(done: list[Any], running: int) -> bool:
        if len(done) // EVERY > counted[0] // EVERY:
            bad = sum(_is_bad(trial) for trial in done)
            seconds = time.monotonic() - began
            print(f"{strike}: {hit + _hits(done)} of {wanted}, {bad} bad, {seconds:.0f} s", flush=True)
        counted[0] = len(done)
        return hit + _hits(done) + running < wanted if before else True

    slots = 1 if strike == "server" else SLOTS  # it ends the sessions of all
    return side_by_side((partial(_recorded, point, record) for point in points), folder, more, slots)


def _recorded(point: Point, record: Path, folder: Path) -> dict[str, Any]:
    """Play a point and write down what came of it."""
    trial = try_point(point, folder)
    with record.open("a") as file:
        file.write(json.dumps(trial) + "\n")
    return trial


def _drawn(trials: Trials, shapes: Sequence[str], seed: int, strike: Strike, address: str) -> list[Point]:
    """Draw points by their place in a session, from 0 to 1; a third are struck a second time."""
    chance = random.Random(f"{seed} {strike}")
    lengths = {trial["shape"]: len(trial["boundaries"]) for trial in trials if trial["at"] is None}
    points: dict[Point, None] = {}
    for _ in range(MOST):
        shape, place, twice = chance.choice(shapes), chance.random(), chance.random()
        at = 1 + int(place * lengths[shape])
        again = at + 1 + int(twice * 3 * lengths[shape]) if twice < 1 / 3 else None
        points[Point(shape, at, again, strike, address)] = None
    return list(points)


def _is_of(trial: Mapping[str, Any], point: Point) -> bool:
    return (trial["shape"], trial["at"], trial["again"]) == (point.shape, point.at, point.again)


def _hits(trials: Trials) -> int:
    return sum(bool(trial["strikes"]) for trial in trials)


def _is_bad(trial: Mapping[str, Any]) -> bool:
    return any(trial[name] for name in BAD)


def figures_of(trials: Trials) -> dict[str, Any]:
    """Add up; sessions that were not struck are judged as well, but are no points."""
    struck = [trial for trial in trials if trial["strikes"]]
    return {
        "points": len(struck),
        "struck_twice": sum(trial["strikes"] > 1 for trial in struck),
        "by_strike": dict(Counter(trial["strike"] for trial in struck)),
        "by_shape": dict(sorted(Counter(trial["shape"] for trial in struck).items())),
        "by_process": dict(Counter(_struck_in(trial) for trial in struck)),
        **{name: sum(len(trial[name]) for trial in trials) for name in BAD},
        "seconds": round(sum(trial["seconds"] for trial in trials), 1),
        "bad": [trial for trial in trials if _is_bad(trial)],
    }


def _struck_in(trial: Mapping[str, Any]) -> str:
    """Name the process that was killed first, where it was a process."""
    killed = (name.rpartition(" ")[0] for name in trial["processes"] if name.endswith(" -9"))
    return str(next(killed, trial["strike"]))


def _print(console: Console, trials: Trials, figures: Mapping[str, Any]) -> None:
    table = Table("session", "boundaries", "points", *BAD)
    for shape in SESSIONS:
        of_shape = [trial for trial in trials if trial["shape"] == shape]
        lengths = [len(trial["boundaries"]) for trial in of_shape if trial["at"] is None]
        counts = [sum(len(trial[name]) for trial in of_shape) for name in BAD]
        if of_shape:
            table.add_row(shape, str(max(lengths, default=0)), str(_hits(of_shape)), *map(str, counts))
    console.print(table)
    for trial in figures["bad"][:20]:
        where = f"{trial['shape']}, {trial['strike']} at {trial['at']}, {trial['again']}"
        boundary = [name for name in trial["boundaries"] if name.startswith("! ")]
        listed = {name: trial[name] for name in (*BAD, "processes") if trial[name]}
        console.print(f"{where} {boundary}: {json.dumps(listed)[:1500]}", markup=False, highlight=False)
    totals = {name: figure for name, figure in figures.items() if name != "bad"}
    console.print(json.dumps(totals), markup=False, highlight=False)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sessions", description=__doc__)
    parser.add_argument("--points", type=int, default=2000, help="how many sessions are to be struck")
    parser.add_argument("--postgres", action="store_true", help="keep them in a PostgreSQL server")
    parser.add_argument("--only", choices=STRIKES, action="append", help="strike in this way alone")
    parser.add_argument("--shape", choices=list(SESSIONS), action="append", help="play this shape alone")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    parser.add_argument("--json", type=Path, default=Path("sessions.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
