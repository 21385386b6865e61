"""`make bench`: how light Planwright is beside its peers, each figure with its bar -> bench.json

Each measure runs in a process of its own, ours and the peers in turn. Exits with 1 when a bar is missed or a
measure fails.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.figures import RESULTS, SCRATCH, Effort, Figure, as_json, join_results

MEASURES = {
    "schedule": "P1: the schedule of steps",
    "tokens": "P2: calls and tokens",
    "levels": "P3: a job of three levels",
    "turns": "P4: the CPU of a turn",
    "durability": "P5: being durable",
    "bytes": "P6: bytes and the CPU of late turns",
    "memory": "P7: live sessions",
    "start": "P8: starts and recoveries",
    "gates": "P9: decisions and resumes",
}


def run_measure(name: str, effort: Effort) -> list[Figure]:
    """Run one measure with a new folder on the disk of the current folder."""
    SCRATCH.mkdir(exist_ok=True)
    module = importlib.import_module(f"benchmarks.bench_{name}")
    with tempfile.TemporaryDirectory(prefix="bench-", dir=SCRATCH) as folder:
        return list(asyncio.run(module.measure(Path(folder).resolve(), effort)))


def measure_all(names: Sequence[str], effort: Effort, console: Console) -> tuple[list[Figure], list[str]]:
    """Run measures one after the other, each in a new process; returns the figures and what failed."""
    figures, failed = list[Figure](), list[str]()
    for name in names:
        began = time.monotonic()
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            try:
                figures += pool.submit(run_measure, name, effort).result()
            except Exception as error:  # noqa: BLE001 - the other measures are still worth running
                failed.append(f"{name}: {type(error).__name__}: {error}")
        console.print(f"[dim]{MEASURES[name]}: {time.monotonic() - began:.0f} s[/dim]")
    return figures, failed


def table_of(figures: Sequence[Figure]) -> Table:
    """Lay the figures out as a table."""
    table = Table(title="As light as the work")
    for heading in ("", "figure", "value", "bar", "", "note"):
        table.add_column(heading, justify="right" if heading in ("value", "bar") else "left")
    for figure in sorted(figures, key=lambda figure: figure.row):
        verdict = "" if figure.bar is None else "[red]missed[/red]" if figure.missed else "[green]met[/green]"
        table.add_row(figure.row, figure.name, f"{figure.value:g}", figure.bar_text, verdict, figure.note)
    return table


def main() -> int:
    """Read the options, measure, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--repeat", type=int, help="measured rounds of each (default 5, with --short 2)")
    parser.add_argument("--short", action="store_true", help="measure less, in three minutes")
    parser.add_argument(
        "--only", nargs="+", choices=MEASURES, default=list(MEASURES), help="these measures only"
    )
    chosen = parser.parse_args()
    effort = Effort(chosen.repeat or (2 if chosen.short else 5), chosen.short)
    console = Console()
    figures, failed = measure_all(chosen.only, effort, console)
    console.print(table_of(figures))
    for problem in failed:
        console.print(f"[red]failed[/red] {problem}", markup=True, highlight=False)
    join_results(RESULTS, {"figures": as_json(figures), "failed": failed, "short": effort.short})
    return exit_code(figures, failed)


def exit_code(figures: Sequence[Figure], failed: Sequence[str]) -> int:
    """Choose the exit code: 1 when a bar is missed or a measure failed."""
    return 1 if failed or any(figure.missed for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
