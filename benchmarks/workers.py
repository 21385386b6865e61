"""Sessions of ten steps, and workers that are killed, stopped past their lease and asked to end.

Processes are real, and so is the receiver that counts effects. At the end every session has to have ended as
it should, and each of its effects has to have happened once. Prints a table, writes `workers.json`, and
exits with 1 when anything is lost, doubled, stuck, or ends otherwise.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from langgraph.types import Command
from rich.console import Console
from rich.table import Table

from benchmarks.consent_model import Script
from benchmarks.counted_person import Person, preload
from benchmarks.counted_shapes import Shape
from benchmarks.counted_stage import Stage, fork, join, quick_folder
from benchmarks.counting_receiver import receiving
from planwright.domain.errors import PlanwrightError
from planwright.sessions.worker import Worker

LEASE_S, BUSY_S, DELAY_S, PATIENCE_S = 2.0, 10.0, 0.02, 600
NUMBER = re.compile(r"\br(\d+)\b")
KINDS = ("book", "transfer")
SETTINGS: dict[str, Any] = {
    "approval": {"plan": "never", "risk": "Critical"},
    "planning": {"mode": "always", "replan_budget": 0},
    "budgets": {"run": {"effects_per_minute": "unlimited"}},
    "queue": {"look_s": 0.1, "capacity": 10_000},
}
TOML = """
[sessions]
on_silence = "resume"
most_breaks = 1000
"""
WAITING = "SELECT 1 FROM runs WHERE status = 'waiting' AND lease_until = 0"
TROUBLE = ("kill", "kill", "stop", "end")


class Foreman(Script):
    """A model that plans one session after another: which one, the number in the request says."""

    def __init__(self, steps: int) -> None:
        super().__init__("", ())
        self.steps = steps

    def reply(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Write the message that a conversation gets."""
        number = NUMBER.findall(json.dumps(messages))
        if not number or not str(messages[0]["content"]).startswith("Role: planner"):
            return {"role": "assistant", "content": "That is done."}
        return {"role": "assistant", "content": json.dumps(plan_of(int(number[-1]), self.steps))}


def plan_of(number: int, steps: int) -> dict[str, Any]:
    """Plan a session: each step but the first two comes after one or two of those before it."""
    chance = random.Random(number)
    listed = []
    for n in range(steps):
        before = chance.sample(range(n), min(n, chance.choice((0, 1, 1, 2))))
        step = {
            "id": f"s{n}",
            "capability": f"bench.{chance.choice(KINDS)}",
            "params": {"name": f"r{number} s{n}"},
        }
        listed.append({**step, "depends_on": [f"s{m}" for m in sorted(before)]})
    return {"goal": f"Do r{number}", "steps": listed}


@dataclass
class Crew:
    """The workers of a trial; whoever ends is followed by another."""

    stage: Stage
    living: list[int] = field(default_factory=list)
    stopped: dict[int, float] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def start(self) -> None:
        """Fork a worker."""
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # it waits until the worker can hear it
        self.living.append(fork(partial(work, self.stage), PATIENCE_S))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])

    def trouble(self, chance: random.Random) -> None:
        """Do something to one of them, and wake who has been stopped for long enough."""
        for pid in [pid for pid, until in self.stopped.items() if time.monotonic() >= until]:
            del self.stopped[pid]
            os.kill(pid, signal.SIGCONT)
        pid, deed = chance.choice(self.living), chance.choice(TROUBLE)
        if deed == "stop" and not self.stopped:
            os.kill(pid, signal.SIGSTOP)
            self.stopped[pid] = time.monotonic() + chance.uniform(1, 3) * LEASE_S
        elif deed in ("kill", "end") and pid not in self.stopped:
            os.kill(pid, signal.SIGKILL if deed == "kill" else signal.SIGTERM)
            self._follow(pid, -signal.SIGKILL if deed == "kill" else 0)
        else:
            return
        self.counts[deed] += 1

    def _follow(self, pid: int, expected: int) -> None:
        self.living.remove(pid)
        code = join(pid)
        if code != expected:
            self.counts["ended badly"] += 1
        self.start()

    def rest(self) -> None:
        """Wake and end them all."""
        for pid in self.stopped:
            os.kill(pid, signal.SIGCONT)
        for pid in self.living:
            os.kill(pid, signal.SIGTERM)
        self.counts["ended badly"] += sum(bool(join(pid)) for pid in self.living)


def work(stage: Stage) -> None:
    """Be a worker until SIGTERM, which was blocked before it was forked."""
    agent = stage.open()

    async def run() -> None:
        worker = Worker(agent)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        async with agent:
            await worker.run()

    asyncio.run(run())


def queue(stage: Stage, sessions: int) -> None:
    """Queue all sessions."""
    agent = stage.open()
    for number in range(sessions):
        agent.enqueue(f"Do r{number}", thread_id=f"thread-{number}")
    agent.close()


class Clerk(Person):
    """Somebody who says of each effect in doubt what the receiver knows, and leaves the run to the workers.

    An owner that was stopped in the middle of a call, and robbed, may still send it: nobody but a person can
    say what became of that.
    """

    def decide_all(self) -> int:
        """Answer every open gate; say how many there were."""
        gates = self.stage.rows(
            "SELECT g.* FROM gates g JOIN runs r USING (run_id) WHERE g.status = 'open'"
            " AND r.status = 'waiting' AND r.lease_until = 0"
        )
        for gate in gates:
            try:
                self._enter(Command(resume=self._answer(gate)), gate["thread_id"])
            except PlanwrightError as error:
                self.outcome.refuse(error)
        return len(gates)


def decide(stage: Stage) -> None:
    """Decide over what is in doubt, in a process of its own."""
    agent = stage.open()
    Clerk(stage, agent).decide_all()
    agent.close()


def main() -> int:
    """Play a trial and return the exit code."""
    options = _options()
    preload()
    with tempfile.TemporaryDirectory(prefix="workers-", dir=quick_folder()) as place:
        figures = play(options, Path(place))
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    table = Table("workers", "")
    for name, figure in figures.items():
        table.add_row(name.replace("_", " "), str(figure))
    Console().print(table)
    return int(any(figures[name] for name in ("lost", "doubled", "not_completed", "ended_badly", "stuck")))


def play(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Queue sessions, disturb the workers until all have ended, and count."""
    chance = random.Random(options.seed)
    shape = Shape("sessions", Foreman(options.steps), "always", {}, settings=SETTINGS)
    with receiving(Foreman(options.steps), delay_s=DELAY_S) as receiver:
        stage = Stage(folder / "workspace", receiver, shape, LEASE_S, BUSY_S)
        stage.prepare()
        (stage.workspace / "planwright.toml").write_text(TOML)
        join(fork(partial(queue, stage, options.sessions), PATIENCE_S))
        crew, began = Crew(stage), time.monotonic()
        for _ in range(options.workers):
            crew.start()
        ended = doubts = 0
        while ended < options.sessions and time.monotonic() - began < PATIENCE_S:
            time.sleep(chance.uniform(0.5, 1.5) * options.every)
            if not options.calm:
                crew.trouble(chance)
            if stage.rows(WAITING):
                join(fork(partial(decide, stage), PATIENCE_S))
                doubts += 1
            (row,) = stage.rows("SELECT count(*) AS n FROM runs WHERE ended_at IS NOT NULL")
            ended = row["n"]
        seconds = time.monotonic() - began
        crew.rest()
        happened = Counter(arrival.name for arrival in receiver.happened())
    wanted = {f"r{number} s{n}" for number in range(options.sessions) for n in range(options.steps)}
    statuses = Counter(row["status"] for row in stage.rows("SELECT status FROM runs"))
    breaks = stage.rows("SELECT coalesce(sum(breaks), 0) AS n FROM sessions")[0]["n"]
    return {
        "seed": options.seed,
        "sessions": options.sessions,
        "steps": options.steps,
        "workers": options.workers,
        "killed": crew.counts["kill"],
        "stopped": crew.counts["stop"],
        "told_to_end": crew.counts["end"],
        "ended_badly": crew.counts["ended badly"],
        "breaks": breaks,
        "times_a_person_decided": doubts,
        "lost": len(wanted - set(happened)),
        "doubled": sum(count > 1 for count in happened.values()),
        "not_completed": options.sessions - statuses["completed"],
        "stuck": options.sessions - ended,
        "statuses": dict(statuses),
        "seconds": round(seconds, 1),
        "sessions_a_second": round(options.sessions / seconds, 2),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("--sessions", type=int, default=200, help="how many sessions are queued")
    parser.add_argument("--steps", type=int, default=10, help="how many steps each has")
    parser.add_argument("--workers", type=int, default=4, help="how many workers there are at a time")
    parser.add_argument("--every", type=float, default=0.3, help="seconds between two troubles")
    parser.add_argument("--calm", action="store_true", help="let nothing happen to the workers")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the troubles")
    parser.add_argument("--json", type=Path, default=Path("workers.json"), help="where the figures go")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
