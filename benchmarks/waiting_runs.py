"""`waiting_runs`: 10,000 runs that wait at real gates; how long does `planwright ls --waiting` take, cold?

The runs and gates are written by the stores' own classes. Prints and writes `waiting.json`: seconds of wall
clock and of CPU of each command, started as a shell does, and whether its count is right. Exits with 1 when a
command takes 5 s or more, or a count is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from planwright.records.consent.gate import Gate, gate_id
from planwright.records.runs import Run, begin_run
from planwright.records.stores import Stores, open_stores
from planwright.settings.settings import load

RUNS, MOST_S, AT_ONCE = 10_000, 5.0, 500
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
COMMANDS = (
    ("ls", "--waiting"),
    ("ls", "--waiting", "--json"),
    ("ls", "--waiting", "--page", "50"),
    ("ls",),
    ("approve",),
)


def fill(folder: Path, count: int) -> None:
    """Write runs that wait for a decision into the store of a workspace."""
    settings = load(folder)
    stores = open_stores(settings.store_folder)
    try:
        asyncio.run(_fill(stores, count))
    finally:
        stores.close()


async def _fill(stores: Stores, count: int) -> None:
    for first in range(0, count, AT_ONCE):
        some = [_run(number) for number in range(first, min(first + AT_ONCE, count))]
        await stores.database.run("begin", partial(_begin, some))
        await asyncio.gather(*(_wait_at_gate(stores, run) for run in some))


def _begin(runs: list[Run], connection: sqlite3.Connection) -> None:
    for run in runs:
        begin_run(connection, run)


def _run(number: int) -> Run:
    request = f"Save line {number} to [notes/{number}.md], then tell everybody in [/team]"
    return Run(
        run_id=f"run_{number:016x}",
        thread_id=f"thread-{number}",
        tenant="default",
        status="waiting",
        request=request,
        messages=[{"type": "human", "data": {"content": request}}],
        context={},
        started_at=(BEGAN + timedelta(seconds=number)).isoformat(),
    )


async def _wait_at_gate(stores: Stores, run: Run) -> None:
    lease = await stores.leases.take(run, 60)
    card: dict[str, Any] = {"capability": "files.write", "args": {"path": "x.md", "text": "line " * 200}}
    gate = Gate(
        gate_id=gate_id(run.run_id, "plan", "0"),
        thread_id=run.thread_id,
        run_id=run.run_id,
        tenant=run.tenant,
        kind="plan",
        step_uid=None,
        shown_hash="0" * 64,
        card=card,
        requested_at=datetime.fromisoformat(run.started_at),
        expires_at=datetime.now(UTC) + timedelta(days=1),
        status="open",
    )
    await stores.gates.open(gate, lease)
    await stores.leases.release(lease)


def measure(folder: Path, count: int) -> list[dict[str, Any]]:
    """Run each command cold, and look at what it says."""
    measured = []
    for words in COMMANDS:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            [sys.executable, "-P", "-m", "planwright.cli.main", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        right = (f'"total": {count}' if "--json" in words else f"{count:,}") in done.stdout + done.stderr
        measured.append(
            {"command": " ".join(words), "seconds": round(seconds, 2), "cpu_s": round(cpu, 2), "right": right}
        )
    return measured


def main() -> int:
    """Fill a workspace, measure, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--out", type=Path, default=Path("waiting.json"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        fill(folder, chosen.runs)
        measured = measure(folder, chosen.runs)
    for row in measured:
        spent = f"{row['seconds']:>6} s  {row['cpu_s']:>6} s CPU"
        print(f"{row['command']:<28} {spent}  count right: {row['right']}")
    chosen.out.write_text(json.dumps({"runs": chosen.runs, "commands": measured}, indent=2) + "\n", "utf-8")
    return 0 if all(row["right"] and row["seconds"] < MOST_S for row in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
