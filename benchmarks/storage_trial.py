"""One run whose storage fails once, or from one moment on; then the storage is well again, and it goes on."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.counted_person import Outcome, Person
from benchmarks.counted_shapes import SHAPES
from benchmarks.counted_stage import THREAD, Stage, fork, join, staged
from benchmarks.counted_verdict import effects_wrong, ends_wrong, false_doubts
from benchmarks.storage_faults import Locker, Point, Trap, arm, calls
from planwright.domain.errors import PlanwrightError

BUSY_S = 0.05


@dataclass
class Trial:
    """One disturbed run, judged. `raised` is what its process ended with, `left` how it left the run."""

    shape: str
    fault: str
    at: int
    lasting: bool
    calls: int = 0
    commits: int = 0
    reached: bool = False
    raised: str = ""
    exit_code: int = 0
    left: str = ""
    doubts: int = 0
    mixed: int = 0
    doubled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    left_in_doubt: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def play(point: Point, folder: Path) -> dict[str, Any]:
    """Disturb, recover and judge, in a folder made for it."""
    trial = Trial(point.shape, point.fault, point.at, point.lasting)
    with staged(SHAPES[point.shape], folder, busy_timeout_s=BUSY_S) as stage:
        _disturbed(point, stage, trial)
        last = _recovered(stage)
        _judge(stage, last, trial)
    return asdict(trial)


def _disturbed(point: Point, stage: Stage, trial: Trial) -> None:
    """Lead the run in a process whose storage fails; it ends at the first error it is told of."""
    place = stage.workspace.parent / "first.json"
    locker = Locker.start()

    def work() -> None:
        arm(point, stage.store)
        trap, outcome, closing = Trap(point, stage, locker), Outcome(), ""
        try:
            agent = stage.open(trap)
            try:
                Person(stage, agent, "first", patience=1, outcome=outcome).lead()
            finally:
                agent.close()
        except PlanwrightError as error:
            outcome.refuse(error)
        except Exception:  # noqa: BLE001 - whatever else it raises is a finding
            closing = traceback.format_exc(limit=-3)
        said = {"outcome": asdict(outcome), "problem": closing, "calls": calls(), "commits": trap.commits}
        place.write_text(json.dumps(said))
        os._exit(0)  # no thread that is left is waited for

    code = join(fork(work))
    locker.link.close()
    join(locker.pid)
    if not place.exists():
        trial.wrong.append(f"the disturbed process ended with {code}")
        trial.reached = True
        return
    said = json.loads(place.read_text())
    outcome = Outcome(**said["outcome"])
    trial.calls, trial.commits = said["calls"], said["commits"]
    trial.reached = 0 < point.at <= (trial.commits if point.fault == "locked" else trial.calls)
    trial.raised = outcome.refusals[0] if outcome.refusals else said["problem"]
    trial.exit_code = outcome.exit_codes[0] if outcome.exit_codes else 0
    _look(stage, outcome, said["problem"], trial)


def _look(stage: Stage, outcome: Outcome, problem: str, trial: Trial) -> None:
    """See how a disturbed process left the records, and whether it said what is wrong and how to go on."""
    runs = stage.rows("SELECT status, ended_at FROM runs ORDER BY rowid")
    trial.left = runs[-1]["status"] if runs else "no run"
    if problem:
        trial.unclear.append(f"an error of no class of ours: {problem}")
    elif outcome.refusals:
        if not trial.raised.startswith("StoreFailed"):
            trial.unclear.append(f"not a StoreFailed: {trial.raised}")
        elif trial.exit_code != 2:
            trial.unclear.append(f"its exit code is {trial.exit_code}")
        elif runs and f"planwright resume {THREAD[:4]}" not in trial.raised and not _follows(stage, runs):
            trial.unclear.append(f"it names no command to go on: {trial.raised}")
    trial.wrong += false_doubts(stage)


def _follows(stage: Stage, runs: Sequence[Any]) -> bool:
    """Say whether the run itself has ended, and only what follows it was disturbed."""
    return bool(stage.shape.then) and runs[0]["ended_at"] is not None


def _recovered(stage: Stage) -> Outcome:
    """Lead the run to its end in a new process, with a storage that is well."""
    place = stage.workspace.parent / "last.json"

    def work() -> None:
        outcome = Outcome()
        try:
            agent = stage.open()
            Person(stage, agent, "second", patience=1, outcome=outcome).lead()
            agent.close()
        except Exception:  # noqa: BLE001 - whatever a recovery raises is a finding
            outcome.problem = traceback.format_exc(limit=-3)
        place.write_text(json.dumps(asdict(outcome)))

    code = join(fork(work))
    if not place.exists():
        return Outcome(problem=f"the recovering process ended with {code}")
    return Outcome(**json.loads(place.read_text()))


def _judge(stage: Stage, last: Outcome, trial: Trial) -> None:
    """Compare effects, records and ends with what was intended."""
    trial.doubts, trial.mixed = last.doubts, last.mixed
    trial.doubled, trial.lost, trial.left_in_doubt = effects_wrong(stage)
    trial.wrong += ends_wrong(stage, last)
