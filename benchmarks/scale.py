"""Sessions by the thousand, with files and with PostgreSQL side by side.

`throughput`: sessions of ten steps a second with 1, 2 and 4 workers. `gates`: sessions at gates, all workers
killed, then listed, decided and brought to their ends. `live`: sessions that are all in the middle of a call.
`long`: one session of many steps. `profile`: where the time of a worker goes. Prints each figure and writes
`scale.json`, to which what was measured before stays; exits with 1 where an effect was lost or doubled.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.counted_person import preload
from benchmarks.counted_stage import quick_folder
from benchmarks.live_runs import hold_all
from benchmarks.long_session import read_all
from benchmarks.waiting_sessions import profiled, wait_and_resume
from benchmarks.workers import DELAY_S, play, stored

WORKERS = (1, 2, 4)
BAD = ("lost", "doubled", "not_completed", "ended_badly", "lock_errors", "stuck")
PARTS = ("throughput", "gates", "live", "long", "profile")
Measure = Callable[[Path, str], Any]


def main() -> int:
    """Measure and return the exit code."""
    options = _options()
    preload()
    kept = options.json
    figures: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    for name, store, measure in _measures(options):
        with stored(store == "postgres") as url, _folder() as folder:
            figure = measure(folder, url)
        figures.setdefault(name, {})[store] = figure
        print(name, store, json.dumps(figure), flush=True)
        kept.write_text(json.dumps(figures, indent=2) + "\n")
    return int(any(_is_bad(figure) for part in figures.values() for figure in part.values()))


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="scale-", dir=quick_folder()) as place:
        yield Path(place)


def _measures(options: argparse.Namespace) -> Iterator[tuple[str, str, Measure]]:
    """List what is to be measured, by its name and its store."""
    for store in options.store or ("sqlite", "postgres"):
        for part in options.part or PARTS:
            for name, measure in _part(part, options, store):
                yield name, store, measure


def _part(part: str, options: argparse.Namespace, store: str) -> Iterator[tuple[str, Measure]]:
    if part == "throughput":
        for workers in WORKERS:
            yield f"throughput of {workers}", _throughput(options, store, workers)
    elif part == "gates":
        yield part, lambda folder, url: wait_and_resume(folder, url, options.gates, 2)
    elif part == "live":
        yield part, lambda folder, url: hold_all(folder, url, options.live, 8)
    elif part == "long":
        yield part, lambda folder, url: read_all(folder / "workspace", url, options.long)
    else:
        yield part, lambda folder, url: profiled(folder, url, min(options.gates, 500))


def _throughput(options: argparse.Namespace, store: str, workers: int) -> Measure:
    calm = argparse.Namespace(
        postgres=store == "postgres",
        seed=0,
        sessions=options.sessions,
        steps=10,
        workers=workers,
        delay=DELAY_S,
        calm=True,
        every=0,
    )
    return lambda folder, url: play(calm, folder, url)


def _is_bad(figure: Any) -> bool:
    return isinstance(figure, dict) and any(figure.get(name) for name in BAD)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="measure this alone")
    parser.add_argument("--store", choices=("sqlite", "postgres"), action="append", help="on this alone")
    parser.add_argument("--sessions", type=int, default=200, help="sessions of ten steps each")
    parser.add_argument("--gates", type=int, default=10_000, help="sessions that wait at gates")
    parser.add_argument("--live", type=int, default=500, help="sessions that are live at once")
    parser.add_argument("--long", type=int, default=10_000, help="steps of the long session")
    parser.add_argument("--json", type=Path, default=Path("scale.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
