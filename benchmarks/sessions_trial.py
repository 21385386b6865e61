"""One session, whose processes are killed at boundaries of commits; others go on with it, and it is judged.

Each process does one thing: it queues the session, is a worker, or is a person who answers, pauses, cancels,
extends, undoes. Which is next is read from the records; what happened is counted by a receiver outside.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.counted_person import Outcome
from benchmarks.counted_stage import Stage, fork, join, staged
from benchmarks.counted_verdict import effects_wrong, ends_wrong
from benchmarks.session_shapes import HELD, SESSIONS, SessionShape
from benchmarks.session_tasks import (
    IN_DOUBT,
    RUNS,
    TTL_S,
    Leap,
    Task,
    ask,
    enqueue,
    person,
    read_again,
    resume,
    settle,
    work,
)
from benchmarks.session_verdict import session_wrong
from benchmarks.strikes import Point, Strike, Trap, stand_at_checkpoints
from planwright.domain.errors import StoreFailed
from planwright.graph.entry import watching

MOST, HEARD_S = 40, 0.1
IN_BACKGROUND = "SELECT run_id FROM sessions"
ASKED = (
    "SELECT 1 AS n FROM runs WHERE ended_at IS NOT NULL OR cancelled_by IS NOT NULL OR pause_by IS NOT NULL"
    " OR extended IS NOT NULL OR status = 'paused'"
)
OPEN_GATES = "SELECT gate_id FROM gates WHERE run_id = ? AND status = 'open'"


@dataclass
class Trial:
    """What came of a session."""

    shape: str
    at: int | None
    again: int | None
    strike: Strike
    boundaries: list[str] = field(default_factory=list)
    strikes: int = 0
    doubled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    left_in_doubt: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    doubts: int = 0
    processes: list[str] = field(default_factory=list)
    seconds: float = 0


def try_point(point: Point, folder: Path) -> dict[str, Any]:
    """Play a session, strike, let others go on, and judge. Call it where no thread runs."""
    watching.LOOK_S = HEARD_S / 5
    shape, begun = SESSIONS[point.shape], time.monotonic()
    held = frozenset({HELD} if shape.asks else ())
    settings: dict[str, Any] = {"queue": {"look_s": 0.02, "capacity": 1000}}
    with staged(shape, folder, held=held, url=point.url, settings=settings) as stage:
        play = Play(stage, shape, point, Trial(point.shape, point.at, point.again, point.strike))
        outcome = play.to_the_end()
        trial = play.trial
        trial.boundaries = play.log.read_text().splitlines() if play.log.exists() else []
        trial.strikes = sum(name.startswith("! ") for name in trial.boundaries)
        trial.doubled, trial.lost, trial.left_in_doubt = effects_wrong(stage)
        trial.wrong += ends_wrong(stage, outcome)
        if outcome.ended:
            trial.wrong += session_wrong(stage)
            play.alone(read_again)
            trial.wrong += play.noted()
    trial.seconds = round(time.monotonic() - begun, 2)
    return asdict(trial)


@dataclass
class Play:
    """The processes of one session, one at a time."""

    stage: Stage
    shape: SessionShape
    point: Point
    trial: Trial
    was_asked: bool = False

    @property
    def log(self) -> Path:
        """The file in which boundaries are counted."""
        return self.stage.workspace.parent / "boundaries"

    def to_the_end(self) -> Outcome:
        """Let processes do what is next until all has ended."""
        outcome = Outcome()
        for _ in range(MOST):
            task = self._next()
            if task is None:
                outcome.ended = True
                outcome.mixed = sum("settle" in name for name in self.trial.processes)
                break
            self._do(task)
            if self.trial.processes[-1].endswith(f" {-signal.SIGALRM}"):
                outcome.problem = "a process came to no end"
                break
        else:
            states = [(run["status"], run["paused_for"]) for run in self.stage.rows(RUNS)]
            outcome.problem = f"after {MOST} processes it is {states}: {self.trial.processes[-4:]}"
        return outcome

    def alone(self, task: Task) -> None:
        """Do something in a process that nobody strikes."""
        self._note(task, join(fork(partial(self._be, task, None))))

    def noted(self) -> list[str]:
        """Read what processes found wrong."""
        place = self.stage.workspace.parent / "wrong"
        return place.read_text().splitlines() if place.exists() else []

    def _next(self) -> Task | None:
        """Say what comes next, by the records; None when all has ended."""
        runs = self.stage.rows(RUNS)
        if not runs:
            return work if self.shape.scheduled else enqueue
        open_ = [run for run in runs if run["ended_at"] is None]
        if not open_ and self.shape.asks == "cancel" and self.stage.rows(IN_DOUBT):
            return settle
        if not open_:
            return person if self.shape.then and len(runs) == 1 else None
        return self._with(open_[0])

    def _with(self, run: Mapping[str, Any]) -> Task:
        """Say what comes next of an open run."""
        run_id, status = run["run_id"], run["status"]
        sessions = [row["run_id"] for row in self.stage.rows(IN_BACKGROUND)]
        asks = self.stage.rows(OPEN_GATES, run_id) and not run["cancelled_by"]
        if run_id not in sessions or (status == "waiting" and asks and not self.shape.expires):
            return person
        if status == "paused" and run["paused_for"] != "storage" and not run["cancelled_by"]:
            return resume
        if self.shape.expires and asks:
            time.sleep(TTL_S)
        return work

    def _do(self, task: Task) -> None:
        """Fork a process, and ask while it works what is to be asked of the session; note how it ended."""
        self._ask()
        pid = self._start(task)
        while self.shape.asks and not self.was_asked:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                self._note(task, os.waitstatus_to_exitcode(status))
                return
            self._ask()
            time.sleep(0.002)
        self._note(task, join(pid))

    def _ask(self) -> None:
        """Ask it of the session once its first effect has arrived, again where who asks is killed."""
        if not self.shape.asks or self.was_asked or HELD not in self.stage.receiver.arrivals():
            return
        for _ in range(4):
            code = join(self._start(ask))
            self._note(ask, code)
            if code == 0 and self.stage.rows(ASKED):
                break  # else the session of who asked was ended, and nothing is on record
        self.was_asked = True
        time.sleep(HEARD_S)  # whoever works on it looks five times meanwhile
        self.stage.receiver.happened("release")

    def _note(self, task: Task, code: int) -> None:
        self.trial.processes.append(f"{task.__name__} {code}")
        if code not in (0, -signal.SIGKILL):
            self.trial.wrong.append(f"a process ended badly: {task.__name__}, {code}")

    def _start(self, task: Task) -> int:
        return fork(partial(self._be, task, Trap(self.log, self.point, self.stage.url)))

    def _be(self, task: Task, trap: Trap | None) -> None:
        """Do the task with an agent of its own; a store that fails is tried again by the next process."""
        stage = replace(self.stage, clock=Leap()) if self.shape.scheduled else self.stage
        with contextlib.suppress(StoreFailed):
            at_checkpoints = self.point.strike == "checkpoint"
            agent = stage.open(None if at_checkpoints else trap)
            if at_checkpoints and trap is not None:
                stand_at_checkpoints(agent.stores.saver, trap)
            try:
                task(stage, agent)
            finally:
                agent.close()
