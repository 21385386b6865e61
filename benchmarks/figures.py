"""Figures with their bars, how they are measured in turn, and the file they are joined to."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

RESULTS = Path("bench.json")
SCRATCH = Path(".planwright")  # on the disk of the current folder: `/tmp` may be memory
Job = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    repeat: int
    """Measured rounds, after one to warm up."""
    short: bool = False
    """Whether to measure less of what takes long."""

    def pick(self, whole: int, short: int) -> int:
        """Choose a number by how much is measured."""
        return short if self.short else whole


@dataclass(frozen=True)
class Figure:
    """One number, and the bar it has to keep to."""

    row: str
    """The row of the table that it belongs to, such as `P4`."""
    name: str
    """What it measures."""
    value: float
    """The number, in the unit that the name says, or a ratio."""
    bar: float | None = None
    """What it is held to; None where it is only shown."""
    kind: Literal["most", "least"] = "most"
    """Whether the bar is the most or the least that is good enough."""
    note: str = ""
    """What a reader should know beside it."""

    @property
    def missed(self) -> bool:
        """Whether the figure does not keep to its bar."""
        if self.bar is None:
            return False
        return self.value > self.bar if self.kind == "most" else self.value < self.bar

    @property
    def bar_text(self) -> str:
        """Write the bar, as `≤ 1.05`."""
        return "" if self.bar is None else f"{'≤' if self.kind == 'most' else '≥'} {self.bar:g}"


@dataclass(frozen=True)
class Spent:
    """What one job took."""

    wall_s: float
    """Seconds of wall clock."""
    cpu_s: float
    """Seconds of CPU of this process, all its threads."""


async def spend(job: Job) -> Spent:
    """Do a job and measure what it took; a job in another process returns what it spent there."""
    wall, cpu = time.perf_counter(), time.process_time()
    if isinstance(spent := await job(), Spent):
        return spent
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


async def in_turn(jobs: Mapping[str, Job], repeat: int) -> dict[str, Spent]:
    """Do all jobs in turn, `repeat` times after one round to warm up; returns the medians by job."""
    spent: dict[str, list[Spent]] = {name: [] for name in jobs}
    for _ in range(repeat + 1):
        for name, job in jobs.items():
            spent[name].append(await spend(job))
    return {name: median_spent(rounds[1:]) for name, rounds in spent.items()}


def median_spent(rounds: Sequence[Spent]) -> Spent:
    """Take the median of wall clock and of CPU."""
    return Spent(
        statistics.median(spent.wall_s for spent in rounds),
        statistics.median(spent.cpu_s for spent in rounds),
    )


def as_json(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """Write figures as `bench.json` holds them."""
    return [{**asdict(figure), "missed": figure.missed} for figure in figures]


def join_results(path: Path, results: Mapping[str, Any]) -> None:
    """Write results into a JSON file, keeping what else it holds. Raises ValueError when it is no object."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if not isinstance(kept, dict):
        raise ValueError(f"{path} holds no JSON object")
    path.write_text(json.dumps({**kept, **results}, indent=2) + "\n", encoding="utf-8")
