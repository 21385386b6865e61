"""Sessions that are all in the middle of a call at once, in several processes: is any lock in the way?"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.counted_shapes import Shape
from benchmarks.counted_stage import Receipt, Stage, fork, join
from benchmarks.counting_receiver import receiving
from benchmarks.crew import PATIENCE_S, Crew
from benchmarks.workers import SETTINGS, TOML, Foreman, queue
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability

LOOK_S = 0.05


@dataclass(frozen=True)
class WaitingStage(Stage):
    """A stage with one capability more, which waits until a file is there, and holds up nothing else."""

    def capabilities(self) -> list[Capability]:
        """Declare what sends, and what waits after it has sent."""
        receiver, opened = self.receiver, self.workspace / "opened"

        @capability("bench.stay", trusted_result=True, mode="local_write", risk="Medium", effect="idempotent")
        async def stay(name: str, call: CallContext) -> Receipt:
            """Send, then wait."""
            await asyncio.to_thread(receiver.send, "idempotent", name, call.idempotency_key)
            while not opened.exists():  # noqa: ASYNC110 - another process makes it
                await asyncio.sleep(LOOK_S)
            return Receipt(name=name)

        return [*super().capabilities(), stay]


def hold_all(folder: Path, url: str, sessions: int, processes: int) -> dict[str, Any]:
    """Let so many sessions be live at once, then end; returns how long that took, and what went wrong."""
    foreman = Foreman(1, ("stay",))
    queued = {"look_s": 0.1, "capacity": 1_000_000, "max_concurrent": -(-sessions // processes)}
    settings = {**SETTINGS, "queue": queued, "execution": {"step_timeout_s": PATIENCE_S}}
    with receiving(foreman, delay_s=0) as receiver:
        shape = Shape("live sessions", foreman, "always", {}, settings=settings)
        stage = WaitingStage(folder / "workspace", receiver, shape, url=url)
        stage.prepare()
        (stage.workspace / "planwright.toml").write_text(TOML)
        join(fork(partial(queue, stage, sessions), PATIENCE_S))
        crew, began = Crew(stage), time.monotonic()
        crew.start_all(processes)
        while len(receiver.happened()) < sessions and time.monotonic() - began < PATIENCE_S:
            time.sleep(LOOK_S)
        live_s = time.monotonic() - began
        (live,) = stage.rows("SELECT count(*) AS n FROM runs WHERE status = 'running'")
        (stage.workspace / "opened").touch()
        while _open(stage) and time.monotonic() - began < PATIENCE_S:
            time.sleep(LOOK_S)
        ended_s = time.monotonic() - began - live_s
        crew.rest()
        happened = Counter(arrival.name for arrival in receiver.happened())
        statuses = Counter(row["status"] for row in stage.rows("SELECT status FROM runs"))
        noted = crew.noted()
    return {
        "sessions": sessions,
        "processes": processes,
        "live_at_once": live["n"],
        "live_after_s": round(live_s, 1),
        "ended_after_s": round(ended_s, 1),
        "lock_errors": noted.pop("lock errors", 0),
        "errors": json.dumps(dict(noted)),
        "lost": sessions - len(happened),
        "doubled": sum(count > 1 for count in happened.values()),
        "not_completed": sessions - statuses["completed"],
        "ended_badly": crew.counts["ended badly"],
    }


def _open(stage: Stage) -> int:
    return int(stage.rows("SELECT count(*) AS n FROM runs WHERE ended_at IS NULL")[0]["n"])
