"""Sessions at gates: workers bring them there and are killed; they are listed, decided, and end."""

from __future__ import annotations

import asyncio
import os
import pstats
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.counted_shapes import Shape
from benchmarks.counted_stage import Stage, fork, join
from benchmarks.counting_receiver import receiving
from benchmarks.crew import PATIENCE_S, Crew, work
from benchmarks.workers import SETTINGS, TOML, Foreman, queue
from planwright.records.consent.gate import Decision

AT_ONCE, MOST_SHOWN = 100, 20
COMMANDS = (("sessions", "ls"), ("sessions", "ls", "--json"), ("ls", "--waiting"))
WAITING = "SELECT count(*) AS n FROM runs WHERE status = 'waiting' AND lease_until = 0"
ENDED = "SELECT count(*) AS n FROM runs WHERE ended_at IS NOT NULL"
BUSY: dict[str, Any] = {**SETTINGS, "queue": {"look_s": 0.1, "capacity": 1_000_000, "max_concurrent": 8}}


def wait_and_resume(folder: Path, url: str, sessions: int, workers: int) -> dict[str, Any]:
    """Play it; returns seconds and sessions a second of each part, and what went wrong."""
    foreman = Foreman(1, ("pay",))
    shape = Shape("sessions", foreman, "always", {}, settings=BUSY)
    with receiving(foreman, delay_s=0) as receiver:
        stage = Stage(folder / "workspace", receiver, shape, url=url)
        stage.prepare()
        (stage.workspace / "planwright.toml").write_text(TOML + _address(url))
        figures: dict[str, Any] = {"sessions": sessions, "workers": workers}
        join(fork(partial(queue, stage, sessions), PATIENCE_S))
        crew = Crew(stage)
        figures["to_gates_s"] = _until(stage, WAITING, sessions, partial(crew.start_all, workers))
        for member in crew.living:
            os.kill(member.pid, signal.SIGKILL)
            member.join()
        figures["commands_s"] = {" ".join(words): _seconds(stage, words) for words in COMMANDS}
        began = time.monotonic()
        join(fork(partial(decide_all, stage), PATIENCE_S))
        figures["decided_s"] = round(time.monotonic() - began, 1)
        crew = Crew(stage)
        figures["to_ends_s"] = _until(stage, ENDED, sessions, partial(crew.start_all, workers))
        crew.rest()
        figures["resumed_a_second"] = round(sessions / figures["to_ends_s"], 1)
        figures |= _judged(stage, sessions)
    figures["ended_badly"] = crew.counts["ended badly"]
    figures["lock_errors"] = crew.noted()["lock errors"]
    return figures


def _address(url: str) -> str:
    return f'[storage]\nurl = "{url}"\n' if url else ""


def _until(stage: Stage, query: str, wanted: int, start: Any) -> float:
    """Start workers and wait until a count is reached; returns the seconds that took."""
    began = time.monotonic()
    start()
    while stage.rows(query)[0]["n"] < wanted and time.monotonic() - began < PATIENCE_S:
        time.sleep(0.2)
    return round(time.monotonic() - began, 1)


def _seconds(stage: Stage, words: tuple[str, ...]) -> float:
    """Run a command as a shell does. Raises CalledProcessError."""
    began = time.monotonic()
    command = [sys.executable, "-P", "-m", "planwright.cli.main", *words]
    subprocess.run(command, cwd=stage.workspace, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return round(time.monotonic() - began, 2)


def decide_all(stage: Stage) -> None:
    """Approve every open gate, so many people at a time, each waiting until it is on the disk."""
    agent = stage.open()
    decision = Decision(answer="approve", decided_by="ann", channel="python")

    async def decide() -> None:
        async with agent:
            now = datetime.now(UTC)
            gates = [gate.gate_id for gate in await agent.stores.gates.waiting()]
            for first in range(0, len(gates), AT_ONCE):
                some = gates[first : first + AT_ONCE]
                await asyncio.gather(*(agent.stores.gates.decide(gate, decision, now) for gate in some))

    asyncio.run(decide())


def _judged(stage: Stage, sessions: int) -> dict[str, Any]:
    happened = Counter(arrival.name for arrival in stage.receiver.happened())
    statuses = Counter(row["status"] for row in stage.rows("SELECT status FROM runs"))
    return {
        "lost": sessions - len(happened),
        "doubled": sum(count > 1 for count in happened.values()),
        "not_completed": sessions - statuses["completed"],
    }


def profiled(folder: Path, url: str, sessions: int) -> list[str]:
    """Bring sessions to their gates and on to their ends by one worker; return what took longest in that."""
    foreman = Foreman(1, ("pay",))
    with receiving(foreman, delay_s=0) as receiver:
        shape = Shape("sessions", foreman, "always", {}, settings=BUSY)
        stage, profile = Stage(folder / "workspace", receiver, shape, url=url), folder / "profile"
        stage.prepare()
        (stage.workspace / "planwright.toml").write_text(TOML)
        join(fork(partial(queue, stage, sessions), PATIENCE_S))
        crew = Crew(stage)
        _until(stage, WAITING, sessions, partial(crew.start, apart=False))
        crew.rest()
        join(fork(partial(decide_all, stage), PATIENCE_S))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        pid = fork(partial(work, stage, profile), PATIENCE_S)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        _until(stage, ENDED, sessions, lambda: None)
        os.kill(pid, signal.SIGTERM)
        join(pid)
    return _profile(profile)


def _profile(place: Path) -> list[str]:
    """List the functions that a profile says most time was spent in, and below, of our own ones."""
    stats = pstats.Stats(str(place))
    root, entries = str(Path(__file__).parents[1]), vars(stats)["stats"].items()
    rows = [(cumulative, calls, key) for key, (_, calls, _, cumulative, _) in entries]
    own = [row for row in sorted(rows, reverse=True) if _is_ours(row[2][0], root)]
    return [
        f"{cumulative:.2f} s, {calls} times: {Path(file).relative_to(root)} {name}"
        for cumulative, calls, (file, _, name) in own[:MOST_SHOWN]
    ]


def _is_ours(file: str, root: str) -> bool:
    return file.startswith(root) and ".venv" not in file
