"""The workers of a trial: processes that are killed, stopped past their lease, told to end, and followed."""

from __future__ import annotations

import asyncio
import cProfile
import logging
import os
import random
import signal
import time
from collections import Counter
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from langgraph.types import Command

from benchmarks.counted_person import Person
from benchmarks.counted_stage import Stage, fork, join
from benchmarks.namespaces import NEW_NETWORK, in_namespace, lead_in, signal_of
from planwright.domain.errors import PlanwrightError
from planwright.extras.worker.worker import Worker

PATIENCE_S = 1200
TROUBLE = ("kill", "kill", "stop", "end")


@dataclass(frozen=True)
class Member:
    """A worker, and the process that waits for it where it is in a namespace."""

    pid: int
    outer: int = 0

    def join(self) -> int:
        """Wait until it has ended; return its exit code, negative for a signal."""
        return signal_of(join(self.outer)) if self.outer else join(self.pid)


@dataclass
class Crew:
    """Workers that do not end but by trouble; whoever ends is followed by another of the same kind.

    As many as are `apart` are in PID and network namespaces of their own, and reach out by the socket `door`.
    """

    stage: Stage
    apart: int = 0
    door: Path = Path()
    living: list[Member] = field(default_factory=list)
    stopped: dict[Member, float] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def start(self, apart: bool) -> None:
        """Fork a worker."""
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # it waits until the worker can hear it
        if apart:
            outer, pid = in_namespace(partial(_work_apart, self.stage, self.door), PATIENCE_S, NEW_NETWORK)
            self.living.append(Member(pid, outer))
        else:
            self.living.append(Member(fork(partial(work, self.stage), PATIENCE_S)))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])

    def start_all(self, count: int) -> None:
        """Fork as many as there are to be."""
        for number in range(count):
            self.start(number < self.apart)

    def trouble(self, chance: random.Random, stop_s: float) -> None:
        """Do something to one of them, or to sessions of the server; wake who was stopped for long enough."""
        for member in [member for member, until in self.stopped.items() if time.monotonic() >= until]:
            del self.stopped[member]
            os.kill(member.pid, signal.SIGCONT)
        deeds = (*TROUBLE, "cut") if self.stage.url else TROUBLE
        member, deed = chance.choice(self.living), chance.choice(deeds)
        if deed == "cut":
            self.counts["cut"] += cut(self.stage.url, chance)
            return
        if not Path(f"/proc/{member.pid}").exists():
            self._follow(member, 0)
            self.counts["ended alone"] += 1
            return
        if deed == "stop" and not self.stopped:
            os.kill(member.pid, signal.SIGSTOP)
            self.stopped[member] = time.monotonic() + chance.uniform(1, 3) * stop_s
        elif deed in ("kill", "end") and member not in self.stopped:
            os.kill(member.pid, signal.SIGKILL if deed == "kill" else signal.SIGTERM)
            self._follow(member, -signal.SIGKILL if deed == "kill" else 0)
        else:
            return
        self.counts[deed] += 1
        self.counts["apart"] += bool(member.outer)

    def _follow(self, member: Member, expected: int) -> None:
        self.living.remove(member)
        if member.join() != expected:
            self.counts["ended badly"] += 1
        self.start(bool(member.outer))

    def rest(self) -> None:
        """Wake and end them all."""
        for member in self.stopped:
            os.kill(member.pid, signal.SIGCONT)
        for member in self.living:
            with suppress(ProcessLookupError):  # it ended alone, which its code tells
                os.kill(member.pid, signal.SIGTERM)
        self.counts["ended badly"] += sum(bool(member.join()) for member in self.living)

    def noted(self) -> Counter[str]:
        """Count what the workers have noted."""
        place = notes_of(self.stage)
        return Counter(place.read_text().splitlines() if place.exists() else ())


def cut(url: str, chance: random.Random) -> int:
    """End a third of the sessions of a store, those by which owners are known among them; say how many."""
    import psycopg

    query = "SELECT pid FROM pg_stat_activity WHERE application_name = 'planwright' ORDER BY pid"
    with psycopg.connect(url, application_name="cutter", autocommit=True) as session:
        pids = [row[0] for row in session.execute(query).fetchall()]
        chosen = chance.sample(pids, len(pids) // 3)
        for pid in chosen:
            session.execute("SELECT pg_terminate_backend(%s)", [pid])
    return len(chosen)


class Notes(logging.Handler):
    """Notes in a file what a worker logs: writes that were refused, and stores that failed."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self._file = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def emit(self, record: logging.LogRecord) -> None:
        """Note one record."""
        text = record.getMessage()
        if "was taken over by another process" in text:
            os.write(self._file, b"stale writes refused\n")
        elif "is locked" in text:
            os.write(self._file, b"lock errors\n")
        elif record.levelno >= logging.ERROR:
            what = "store failures" if "lost" in text or "store failed" in text else f"error: {text[:100]}"
            os.write(self._file, what.replace("\n", " ").encode() + b"\n")


def notes_of(stage: Stage) -> Path:
    """Name the file that workers note things in."""
    return stage.workspace / "notes"


def work(stage: Stage, profile: Path | None = None) -> None:
    """Be a worker until SIGTERM, which was blocked before it was forked; `profile` gets where time went."""
    logger = logging.getLogger("planwright")
    logger.setLevel(logging.INFO)
    logger.addHandler(Notes(notes_of(stage)))
    agent = stage.open()

    async def run() -> None:
        worker = Worker(agent)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        async with agent:
            await worker.run()

    with cProfile.Profile() if profile else nullcontext() as profiler:
        asyncio.run(run())
    if profiler is not None:
        profiler.dump_stats(str(profile))


def _work_apart(stage: Stage, door: Path) -> None:
    """Be a worker that reaches receiver and model by a socket in a file."""
    lead_in(stage.receiver.port, door, PATIENCE_S)
    work(stage)


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
