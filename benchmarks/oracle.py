"""Random plans against what the written rules say of them: statuses of steps and run, and effects done twice.

Prints how many runs, the seed and what differs, writes `oracle.json`, and exits with 1 when anything does.
With a mistake `--planted` in the product it has to fail.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.oracle_plans import drawn
from benchmarks.oracle_trial import Planted, open_stage, planted, play
from benchmarks.plan_oracle import foretold

RUNS, SLOTS, A_PROCESS = 3000, 2, 100
PLANTED: tuple[Planted, ...] = ("", "cascade", "repeat")


def main() -> int:
    """Run the benchmark and return its exit code."""
    options, started, before = _options(), time.perf_counter(), os.times()
    seeds = list(range(options.seed, options.seed + options.runs))
    parts = [seeds[at : at + A_PROCESS] for at in range(0, len(seeds), A_PROCESS)]
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        told = in_processes(parts, Path(folder), options.planted)
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    figures: dict[str, float] = {"runs": len(seeds), "seed": options.seed}
    figures |= {name: sum(one[name] for one in told) for name in ("planned_again", "effects", "twice")}
    figures["different"] = sum(bool(one["wrong"]) for one in told)
    figures |= {"seconds": round(time.perf_counter() - started, 1)}
    figures |= {"cpu_s_a_run": round(cpu_s / len(seeds), 3)}
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    console = Console()
    for one in [one for one in told if one["wrong"]][:10]:
        console.print(f"seed {one['seed']}: {one['wrong']}", markup=False, highlight=False)
    console.print(", ".join(f"{name} {value:g}" for name, value in figures.items()))
    return int(bool(figures["different"] or figures["twice"]))


def in_processes(parts: Sequence[Sequence[int]], folder: Path, mutation: Planted) -> list[dict[str, int]]:
    """Run the seeds in forked processes, `SLOTS` at a time."""
    waiting, working = list(enumerate(parts)), set[int]()
    while waiting or working:
        while waiting and len(working) < SLOTS:
            number, seeds = waiting.pop(0)
            working.add(_start(seeds, folder / str(number), mutation))
        pid, status = os.wait()
        working.discard(pid)
        if code := os.waitstatus_to_exitcode(status):
            raise RuntimeError(f"a process ended with {code}")
    told = [json.loads((folder / f"{number}.json").read_text()) for number in range(len(parts))]
    return [one for part in told for one in part]


def _start(seeds: Sequence[int], folder: Path, mutation: Planted) -> int:
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    code = 1
    try:
        with planted(mutation):
            told = judged(seeds, folder)
        folder.with_suffix(".json").write_text(json.dumps(told))
        code = 0
    finally:
        os._exit(code)


def judged(seeds: Sequence[int], folder: Path) -> list[dict[str, object]]:
    """Run the seeds in this process, and compare each with what was foretold."""
    stages = {budget: open_stage(folder / str(budget), budget) for budget in (0, 1, 2)}
    told: list[dict[str, object]] = []
    for seed in seeds:
        case = drawn(seed)
        due, ended = foretold(list(case.plans), case.budget), play(stages[case.budget], case)
        wrong = "" if ended == due else f"expected {due}, got {ended}, of {case}"
        twice = sum((ended.happened - due.happened).values())
        effects = sum(ended.happened.values())
        told.append({"seed": seed, "wrong": wrong, "twice": twice, "effects": effects})
        told[-1]["planned_again"] = ended.plans - 1
    for stage in stages.values():
        stage.agent.close()
    shutil.rmtree(folder)
    return told


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.oracle", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="how many runs")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first run; each has the next")
    parser.add_argument("--planted", choices=PLANTED, default="", help="a mistake planted in the product")
    parser.add_argument("--json", type=Path, default=Path("oracle.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
