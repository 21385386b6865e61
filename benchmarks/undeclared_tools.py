"""A hundred tasks over plain functions that say nothing of what they may do -> undeclared_tools.json

Five small worlds with state: a clinic, a warehouse, a library, a greenhouse, the treasury of a club. Their
functions return what libraries return, tables with gaps among it. A model that is right about each task
calls what it is offered, or what a search adds; a person approves effects, and says once of each tool that
it only reads. All is played at default settings: with the tools of the world, with those of all five, which
do not fit, and both again with a model whose context is small; where no tool raises, always planned as well.
Exits with 1 where a way has more than one task with a tool that was not to be had, a card that asks about
nothing but reads that were spoken of, or a task that ends otherwise than it should.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import (
    undeclared_clinic_tasks,
    undeclared_greenhouse_tasks,
    undeclared_library_tasks,
    undeclared_treasury_tasks,
    undeclared_warehouse_tasks,
)
from benchmarks.counted_stage import quick_folder
from benchmarks.undeclared_clinic import clinic
from benchmarks.undeclared_greenhouse import greenhouse
from benchmarks.undeclared_library import library
from benchmarks.undeclared_model import World
from benchmarks.undeclared_stage import WAYS, Office, Outcome, Way, figures, play
from benchmarks.undeclared_treasury import treasury
from benchmarks.undeclared_warehouse import warehouse

WORLDS: Mapping[str, tuple[Callable[[], World], Any]] = {
    "clinic": (clinic, undeclared_clinic_tasks),
    "warehouse": (warehouse, undeclared_warehouse_tasks),
    "library": (library, undeclared_library_tasks),
    "greenhouse": (greenhouse, undeclared_greenhouse_tasks),
    "treasury": (treasury, undeclared_treasury_tasks),
}
LEAST_HAD = 0.99  # tasks of a way whose tools are offered or found


def play_all(way: Way, folder: Path, worlds: Sequence[str], only: str = "") -> Iterator[Outcome]:
    """Play the tasks of each world in its own workspace, one after another; answers stay there."""
    wanted = {name: words for _, module in WORLDS.values() for name, words in module.WANTED.items()}
    for name, (opened, module) in WORLDS.items():
        if name not in worlds:
            continue
        others = [world() for world, _ in WORLDS.values()] if way.together else []
        office = Office(folder / f"{name}-{WAYS.index(way)}", way, wanted, others)
        office.set_up()
        for task in module.TASKS:
            if only in task.messages[-1].words and not (way.planned and task.raises):
                yield play(task, opened, office)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play all, print and write the figures, and return the exit code."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--json", type=Path, default=Path("undeclared_tools.json"))
    options.add_argument("--only", default="", help="only tasks whose last message holds this")
    options.add_argument("--worlds", nargs="*", default=list(WORLDS))
    options.add_argument("--ways", type=int, nargs="*", default=range(len(WAYS)))
    chosen = options.parse_args(arguments)
    report, failures, missed = dict[str, Any](), list[dict[str, Any]](), False
    with tempfile.TemporaryDirectory(prefix="undeclared-", dir=quick_folder()) as folder:
        for way in (WAYS[number] for number in chosen.ways):
            outcomes = list(play_all(way, Path(folder), chosen.worlds, chosen.only))
            report[way.name] = counted = figures(outcomes)
            failures += [
                {name: value for name, value in asdict(each).items() if value}
                for each in outcomes
                if each.wrong or each.missed or each.read_again
            ]
            missed |= counted["had"] < LEAST_HAD * len(outcomes) or counted["read_again"] > 0
            missed |= counted["right_end"] < len(outcomes)
            print(way.name, json.dumps(counted))
    chosen.json.write_text(json.dumps({**report, "failures": failures}, indent=1) + "\n", "utf-8")
    for failure in failures[:20]:
        print(json.dumps(failure, ensure_ascii=False))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
