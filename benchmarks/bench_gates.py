"""P9: decisions recorded a second, and runs resumed a second, with few and with many that wait.

The runs that are resumed are single calls that ask: approved through the door, called, recorded as an effect,
judged and answered. Many wait as copies of one of them, row by row. Bare LangGraph has three nodes (an
interrupt, the call, an answer) on its SQLite saver, in durability `sync`. Four processes share one store.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Effort, Figure, Job, in_turn
from benchmarks.gated_runs import (
    approve,
    bare_approve,
    bare_graph,
    bare_wait,
    crowd,
    open_gated,
    wait_at_gate,
)
from benchmarks.waiting_runs import fill
from planwright.records.consent.gate import Decision
from planwright.records.stores import open_stores
from planwright.settings.settings import load

WAITING, FEW = 10_000, 10
DECISIONS_A_SECOND, OVER_FEW, OVER_BARE, PROCESSES, OVER_ONE = 1000, 0.9, 0.5, 4, 1.8
AT_ONCE = 100  # people who decide at the same time


async def measure(folder: Path, effort: Effort) -> list[Figure]:
    """Measure decisions, then resumes in one process, then in four."""
    waiting = effort.pick(WAITING, WAITING // 5)
    return [
        await decisions(folder / "decisions", effort.pick(5_000, 1_000)),
        *await resumes(folder / "resumes", waiting, rounds=effort.pick(40, 15)),
        await processes(folder, effort.pick(160, 40), max(effort.repeat // 2, 1)),
    ]


async def decisions(folder: Path, count: int) -> Figure:
    """Decide so many open gates, a hundred people at a time, each waiting until it is on the disk."""
    await asyncio.to_thread(folder.mkdir, parents=True)
    await asyncio.to_thread(fill, folder, count)
    settings = await asyncio.to_thread(load, folder)
    stores = await asyncio.to_thread(open_stores, settings.store_folder)
    decision, now = Decision(answer="approve", decided_by="bench", channel="python"), datetime.now(UTC)
    try:
        gates = [gate.gate_id for gate in await stores.gates.waiting()]
        began = time.perf_counter()
        for first in range(0, count, AT_ONCE):
            await asyncio.gather(
                *(stores.gates.decide(gate, decision, now) for gate in gates[first : first + AT_ONCE])
            )
        rate = count / (time.perf_counter() - began)
        left = await stores.gates.waiting()
    finally:
        await asyncio.to_thread(stores.close)
    if len(gates) != count or left:
        raise RuntimeError(f"of {count} gates {len(gates)} were open before, and {len(left)} after")
    note = f"{count:,} gates, {AT_ONCE} at a time"
    return Figure("P9", "decisions recorded a second", round(rate), DECISIONS_A_SECOND, "least", note)


async def resumes(folder: Path, waiting: int, rounds: int) -> list[Figure]:
    """Resume runs in turn: where few wait, where many wait, and of bare LangGraph."""
    few, many = open_gated(folder / "few"), open_gated(folder / "many")
    runs = rounds + 2  # one to warm up, one that stays and is copied
    try:
        async with bare_graph(folder / "bare.db") as bare:
            for number in range(runs):
                await wait_at_gate(few, number)
                await wait_at_gate(many, number)
                await bare_wait(bare, number)
            await asyncio.to_thread(crowd, folder / "many", runs - 1, waiting - runs)
            numbers = {name: iter(range(runs)) for name in ("few", "many", "bare")}
            jobs: dict[str, Job] = {
                "few": lambda: approve(few, next(numbers["few"])),
                "many": lambda: approve(many, next(numbers["many"])),
                "bare": lambda: bare_approve(bare, next(numbers["bare"])),
            }
            spent = await in_turn(jobs, rounds)
    finally:
        await few.aclose()
        await many.aclose()
    rate = {name: 1 / each.wall_s for name, each in spent.items()}
    cpu = ", ".join(f"{name} {each.cpu_s * 1000:.1f}" for name, each in spent.items())
    note = f"{rate['many']:.1f} a second at {waiting:,} waiting, {rate['few']:.1f} at {runs} or fewer"
    over_bare = f"bare {rate['bare']:.1f} a second; CPU ms of one: {cpu}"
    return [
        Figure(
            "P9",
            "resumes at many waiting / at few",
            round(rate["many"] / rate["few"], 2),
            OVER_FEW,
            "least",
            note,
        ),
        Figure(
            "P9",
            "resumes / bare LangGraph",
            round(rate["many"] / rate["bare"], 2),
            OVER_BARE,
            "least",
            over_bare,
        ),
    ]


async def processes(folder: Path, runs: int, rounds: int) -> Figure:
    """Resume the runs of one store by one process and by four, in turn."""
    seconds: dict[int, list[float]] = {1: [], PROCESSES: []}
    for round_ in range(rounds):
        for count in seconds:
            place = folder / f"shared-{count}-{round_}"
            agent = open_gated(place)
            try:
                for number in range(runs + count):
                    await wait_at_gate(agent, number)
            finally:
                await agent.aclose()
            seconds[count].append(await asyncio.to_thread(_shared, place, count, runs // count + 1))
    one, four = (runs / statistics.median(each) for each in seconds.values())
    note = f"{four:.1f} runs a second by {PROCESSES} processes, {one:.1f} by one"
    name = f"resumes by {PROCESSES} processes / by one"
    return Figure("P9", name, round(four / one, 2), OVER_ONE, "least", note)


def _shared(folder: Path, count: int, each: int) -> float:
    """Let processes approve their share of runs, all from one moment on; returns the seconds to the last."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.gated_runs", str(folder), str(number * each), str(each)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    try:
        _all_print(workers, "ready")
        began = time.perf_counter()
        for worker in workers:
            if worker.stdin is not None:
                worker.stdin.write("go\n")
                worker.stdin.flush()
        _all_print(workers, "done")
        return time.perf_counter() - began
    finally:
        for worker in workers:
            worker.communicate()


def _all_print(workers: list[subprocess.Popen[str]], word: str) -> None:
    for worker in workers:
        if worker.stdout is None or worker.stdout.readline().strip() != word:
            raise RuntimeError(f"a worker did not come to {word!r}")
