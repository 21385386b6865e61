"""What a run costs in a store of many: CPU of a planned run of one step beside 100 ended runs, and 100,000.

Both stores are filled by bulk inserts (`filled_store`), and runs are done in turn in one process; each figure
is a median. Then the readers of the page read the large store. Prints each figure, and exits with 1 where a
run costs more than 1.05 times as much there, or more than 20 ms of CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.counted_stage import quick_folder
from benchmarks.figures import Figure, in_turn
from benchmarks.filled_store import PLAN, fill, note
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.history.effect_pages import EffectFilter, effect_page
from planwright.records.history.run_outcomes import counts_of_store
from planwright.records.history.run_pages import RunFilter, run_choices, runs_page
from planwright.records.history.session_pages import SessionFilter, session_page
from planwright.records.history.usage_history import UsageScope, used_by_each
from planwright.settings.settings import load

FEW, TENANT = 100, "default"
MOST_TIMES, MOST_MS = 1.05, 20


def main() -> int:
    """Measure and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.filled_runs", description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000, help="ended runs of the large store")
    parser.add_argument("--repeat", type=int, default=15, help="measured runs in each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="filled-", dir=quick_folder()) as place:
        folders = {name: Path(place) / name for name in ("few", "many")}
        for folder, runs in zip(folders.values(), (FEW, options.runs), strict=True):
            folder.mkdir()
            fill(folder, runs)
        figures = asyncio.run(_runs(folders, options.repeat))
        figures += _pages(folders["many"] / ".planwright" / "planwright.db")
    for figure in figures:
        print(f"{figure.name}: {figure.value:g} {figure.bar_text}")
    return int(any(figure.missed for figure in figures))


async def _runs(folders: dict[str, Path], repeat: int) -> list[Figure]:
    with ExitStack() as stack:
        jobs = {name: partial(_run, stack.enter_context(_agent(folder))) for name, folder in folders.items()}
        spent = await in_turn(jobs, repeat)
    few, many = (spent[name].cpu_s * 1000 for name in folders)
    return [
        Figure("P10", "CPU of a planned run, many ended runs over few", round(many / few, 3), MOST_TIMES),
        Figure("P10", "CPU of a planned run beside many ended runs, ms", round(many, 1), MOST_MS),
    ]


def _agent(folder: Path) -> Agent:
    settings = load(folder, planning={"mode": "always"}, approval={"plan": "never"})
    model = ScriptedModel(replies=[json.dumps(PLAN), "Noted."] * 1000)
    return build_graph(settings, model=model, capabilities=[note])


async def _run(agent: Agent) -> None:
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}
    result = await agent.ainvoke({"messages": [("user", "Note it")]}, config)
    assert result["status"] == "completed", result


def _pages(file: Path) -> list[Figure]:
    """Read what the pages show, once each, in ms of CPU."""
    now = datetime.now(UTC)
    scope = UsageScope(now, TENANT, (now - timedelta(days=29)).date().isoformat())
    readers: dict[str, Callable[[sqlite3.Connection], object]] = {
        "runs": lambda c: (runs_page(c, RunFilter(TENANT), 50, 0), run_choices(c, RunFilter(TENANT))),
        "the last page of runs": lambda c: runs_page(c, RunFilter(TENANT), 50, 10**5 - 50),
        "effects": lambda c: effect_page(c, EffectFilter(TENANT), 50, 0),
        "sessions": lambda c: session_page(c, SessionFilter(TENANT), 50, 0),
        "usage of 30 days": lambda c: used_by_each(c, ("day", "provider", "agent"), scope),
        "metrics": counts_of_store,
    }
    figures = []
    with closing(sqlite3.connect(file)) as store:
        store.row_factory = sqlite3.Row
        for name, read in readers.items():
            began = time.process_time()
            read(store)
            figures.append(Figure("P10", f"{name}, ms", round((time.process_time() - began) * 1000, 1)))
    return figures


if __name__ == "__main__":
    sys.exit(main())
