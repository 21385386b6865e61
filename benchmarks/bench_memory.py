"""P7: the memory of 100 live sessions, ours durable, over those of LangChain's agent without a saver.

Each kind runs in processes of its own that load what it needs. Each session has read three pages and waits in
its fourth call. Compared are the whole process, and what it grows by from one session to all.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.figures import Effort, Figure
from benchmarks.peers import model_server

SESSIONS = 100
KINDS = ("ours", "stock")


async def measure(folder: Path, effort: Effort) -> list[Figure]:
    """Measure both kinds in turn."""
    calls = [[["bench__page", {"number": n}]] for n in range(3)] + [[["bench__wait", {"number": 0}]]]
    sizes: dict[str, list[tuple[int, int]]] = {kind: [] for kind in KINDS}
    with model_server({"plan": "", "answer": "done", "delay_s": 0, "turns": calls}) as url:
        for number in range(effort.pick(3, 1)):
            for kind in KINDS:
                sizes[kind].append(await asyncio.to_thread(_sizes, kind, url, folder / str(number)))
    whole = {kind: statistics.median(after for _, after in each) / 1024 for kind, each in sizes.items()}
    growth = {
        kind: statistics.median(after - before for before, after in each) for kind, each in sizes.items()
    }
    each_kb = {kind: kb / (SESSIONS - 1) for kind, kb in growth.items()}
    return [
        Figure(
            "P7",
            f"memory of a process with {SESSIONS} sessions / create_agent",
            round(whole["ours"] / whole["stock"], 2),
            1.0,
            note=f"{whole['ours']:.0f} MB over {whole['stock']:.0f} MB",
        ),
        Figure(
            "P7",
            "memory of one more session / create_agent",
            round(each_kb["ours"] / each_kb["stock"], 2),
            1.0,
            note=f"{each_kb['ours']:.0f} KB over {each_kb['stock']:.0f} KB",
        ),
    ]


def _sizes(kind: str, url: str, folder: Path) -> tuple[int, int]:
    command = [sys.executable, "-m", "benchmarks.live_sessions", kind, url, str(folder), str(SESSIONS)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    before, after = done.stdout.split()
    return int(before), int(after)
