"""kill -9 at system calls of a run and of its recovery; then it goes on, and its effects are counted.

A process dies before, midway or after its n-th call that writes, synchronizes, names or removes a file of its
workspace, or transmits over the network. Effects are counted by a receiver that knows nothing of runs. Prints
tables, writes `crash_calls.json`, and exits with 1 when an effect was lost or doubled, when a run did not go
on or ended otherwise than it should, or when a person was asked about an effect that was never in doubt.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.counted_person import preload
from benchmarks.counted_shapes import SHAPES
from benchmarks.counted_stage import quick_folder, side_by_side
from benchmarks.crash_calls_trial import KINDS, SOURCE, Draw, Kill, draws, play
from benchmarks.storage_faults import compiler, loaded, start_again

SLOTS, MOST = 2, 20
BAD = ("lost", "doubled", "wrong", "false_doubts", "stuck")
Trials = Sequence[Mapping[str, Any]]


def main() -> int:
    """Run the sweep, in a process that counts its calls, and return its exit code."""
    options = _options()
    if not compiler():
        print("skipped: there is no C compiler to make the trap with; install gcc or clang")
        return 0
    with tempfile.TemporaryDirectory(prefix="crash-calls-", dir=quick_folder()) as place:
        if not loaded(SOURCE):
            return start_again(Path(place), ["benchmarks.crash_calls", *sys.argv[1:]], SOURCE)
        return sweep(options, Path(place))


def sweep(options: argparse.Namespace, folder: Path) -> int:
    """Measure each shape, kill it twice and once, and write the figures down."""
    started = time.perf_counter()
    preload()
    names = options.shape or list(SHAPES)
    whole = [dict(one) for one in _played((Draw(name, (Kill(0),)) for name in names), folder, 0, len(names))]
    calls = {
        trial["shape"]: trial["calls"] for trial in sorted(whole, key=lambda one: names.index(one["shape"]))
    }
    twice = _played(draws(calls, 2, options.seed), folder, 2, options.doubles)
    once = _played(draws(calls, 1, options.seed), folder, 1, max(options.points - len(_killed(twice, 1)), 0))
    trials = [*whole, *twice, *once]
    bad = [trial for trial in trials if any(trial[name] for name in BAD)]
    figures = {**figures_of(trials), "calls": calls, "seed": options.seed}
    figures["seconds"] = round(time.perf_counter() - started, 1)
    options.json.write_text(json.dumps({**figures, "bad": bad}, indent=2) + "\n")
    _print(Console(width=110), trials, bad, figures)
    return int(bool(bad))


def figures_of(trials: Trials) -> dict[str, int]:
    """Count points, double kills, doubts, and whatever went wrong, by trials."""
    counts = {name: sum(bool(trial[name]) for trial in trials) for name in (*BAD, "doubts")}
    return {"points": len(_killed(trials, 1)), "double_kills": len(_killed(trials, 2)), **counts}


def _killed(trials: Trials, times: int) -> list[Mapping[str, Any]]:
    return [trial for trial in trials if len(trial["killed"]) >= times]


def _played(drawn: Iterable[Draw], folder: Path, kills: int, wanted: int) -> list[dict[str, Any]]:
    """Play until enough runs were killed so often; where a late call does not come, another is drawn."""

    def more(done: Sequence[Any], running: int) -> bool:
        return len(_killed(done, kills)) + running < wanted

    works = (partial(play, draw) for draw in islice(drawn, MOST * wanted))
    return side_by_side(works, folder, more, SLOTS)


def _print(console: Console, trials: Trials, bad: Trials, figures: Mapping[str, Any]) -> None:
    kills = Counter(name for trial in trials for name in trial["killed"])
    whens = sorted({" ".join(_where(name)) for name in kills})
    by_call = {
        when: [t for t in trials if any(" ".join(_where(n)) == when for n in t["killed"])] for when in whens
    }
    by_shape = {name: [trial for trial in trials if trial["shape"] == name] for name in SHAPES}
    for title, parts in (("killed", by_call), ("shape", {**by_shape, "all": trials})):
        table = Table(title, "points", "double kills", *(name.replace("_", " ") for name in (*BAD, "doubts")))
        for label, part in parts.items():
            table.add_row(label, *map(str, figures_of(part).values()))
        console.print(table)
    for trial in bad[:20]:
        shown = {name: trial[name] for name in ("shape", "killed", "draw", *BAD) if trial[name]}
        console.print(json.dumps(shown)[:1500], markup=False, highlight=False)
    console.print(json.dumps(figures))


def _where(killed: str) -> tuple[str, str]:
    """Say when and at what kind of call a process died."""
    when, kind, *_ = killed.split(" ")
    return KINDS.get(kind, "unknown"), when


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crash_calls", description=__doc__)
    parser.add_argument("--points", type=int, default=2000, help="how many runs to kill, once or twice")
    parser.add_argument("--doubles", type=int, default=500, help="how many of them to kill twice")
    parser.add_argument("--shape", action="append", choices=list(SHAPES), help="only these; all without")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the points")
    parser.add_argument("--json", type=Path, default=Path("crash_calls.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
