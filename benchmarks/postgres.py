"""PostgreSQL as the store: processes, sessions and servers die at random places, and effects are counted.

The plans, receivers and verdicts are those of `benchmarks.crash`. A process is killed at a boundary of a
commit; a session is ended, or the process that serves it is killed with the whole server starting anew, a
moment after one. Prints a table, writes `postgres.json`, and exits with 1 when an effect was lost or doubled,
or a run ended otherwise than it should have.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.crash import SLOTS, sampled, side_by_side
from benchmarks.crash_trial import Point, Strike, Trial, preload
from benchmarks.receiver import SCENARIOS
from tests.postgres_server import PostgresServer

STRIKES: tuple[Strike, ...] = ("process", "session", "backend")
COUNTS = ("lost", "duplicated", "wrong", "in_doubt", "sent_again")


def main() -> int:
    """Run the benchmark and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres", description=__doc__)
    parser.add_argument("--points", type=int, default=170, help="kills of each kind")
    parser.add_argument("--only", choices=STRIKES, action="append", help="this kind of kill alone")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    parser.add_argument("--json", type=Path, default=Path("postgres.json"), help="where the figures go")
    options = parser.parse_args()
    preload()
    server = PostgresServer.start()
    try:
        figures = {
            strike: _swept(server, strike, options.points, options.seed) for strike in options.only or STRIKES
        }
    finally:
        server.remove()
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    table = Table("killed", "runs", *COUNTS, "seconds", box=None, pad_edge=False)
    for strike, found in figures.items():
        table.add_row(strike, *(str(found[name]) for name in ("runs", *COUNTS, "seconds")))
    Console().print(table)
    for problem in (problem for found in figures.values() for problem in found["problems"]):
        print(problem, file=sys.stderr)
    return int(any(found[name] for found in figures.values() for name in ("lost", "duplicated", "wrong")))


def _swept(server: PostgresServer, strike: Strike, points: int, seed: int) -> dict[str, Any]:
    """Kill in one way, at a sample of places in every scenario."""
    started = time.perf_counter()
    address = server.url(f"{strike}_")
    whole = [Point(scenario, None, server=address, strike=strike) for scenario in SCENARIOS]
    with tempfile.TemporaryDirectory(prefix="postgres-") as folder:
        recorded = side_by_side(whole, Path(folder), lambda done, running: True)
        slots = 1 if strike == "backend" else SLOTS  # it ends the sessions of all
        trials = [*recorded, *sampled(whole, recorded, Path(folder), points, seed, slots)]
    killed = [trial for trial in trials if trial.killed]
    counts = Counter({name: sum(_number(trial, name) for trial in trials) for name in COUNTS})
    doubled = [
        f"{trial.scenario} at {trial.at}, {trial.boundary}: doubled" for trial in trials if trial.duplicated
    ]
    return {
        "runs": len(killed),
        **{name: counts[name] for name in COUNTS},
        "seconds": round(time.perf_counter() - started, 1),
        "problems": [f"{trial.scenario} at {trial.at}: {text}" for trial in trials for text in trial.wrong]
        + doubled,
    }


def _number(trial: Trial, name: str) -> int:
    value = getattr(trial, name)
    return len(value) if isinstance(value, tuple) else int(value)


if __name__ == "__main__":
    sys.exit(main())
