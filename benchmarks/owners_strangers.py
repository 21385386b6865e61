"""Owners that another process cannot see, and owners that seem dead: neither is robbed of its run.

In two PID namespaces both processes are number 1, and neither sees the other. A live one is not robbed; the
run of a dead one goes on when its lease has ended. And a capability that blocks its event loop for longer
than the lease lasts keeps its run.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from benchmarks.consent_cases import plan_steps
from benchmarks.consent_model import Script
from benchmarks.counted_person import Person
from benchmarks.counted_shapes import SHAPES, Shape, call
from benchmarks.counted_stage import THREAD, Stage, config, fork, join, staged
from benchmarks.counted_verdict import effects_wrong
from benchmarks.namespaces import in_namespace
from planwright.domain.errors import PlanwrightError

Kind = Literal["alive", "dead", "blocked"]
LEASE_S, BLOCKED_LEASE_S = 1.5, 0.5
_BLOCKED = Shape(
    "a blocked loop",
    Script("Carry out a block", (), plan={"goal": "block", "steps": plan_steps([call("block", "blocked")])}),
    "always",
    {"blocked": 1},
)


@dataclass
class Meeting:
    """One trial, judged: how often the second process tried, and how often it was refused."""

    kind: Kind
    tried: int = 0
    refused: int = 0
    robbed: bool = False
    doubled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    left_in_doubt: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def works(kind: Kind, trials: int) -> Iterator[partial[dict[str, Any]]]:
    """Make the trials of a kind."""
    return (partial(_blocked if kind == "blocked" else partial(_strangers, kind)) for _ in range(trials))


def _strangers(kind: Kind, folder: Path) -> dict[str, Any]:
    meeting = Meeting(kind)
    options = {"lease_s": LEASE_S, "held": frozenset(("second",))}
    with staged(SHAPES["a sequence"], folder, fresh=False, **options) as stage:
        first, inside = in_namespace(partial(_lead, stage))
        while "second" not in stage.receiver.arrivals():
            time.sleep(0.01)
        if kind == "dead":
            os.kill(inside, signal.SIGKILL)
            join(first)
            stage.receiver.happened("release")
        _try(stage, meeting, seconds=2 * LEASE_S if kind == "alive" else 20 * LEASE_S, namespace=True)
        stage.receiver.happened("release")
        if kind == "alive":
            join(first)
        _judge(stage, meeting)
    return asdict(meeting)


def _blocked(folder: Path) -> dict[str, Any]:
    meeting = Meeting("blocked")
    options = {"lease_s": BLOCKED_LEASE_S, "held": frozenset(("blocked",))}
    with staged(_BLOCKED, folder, fresh=False, **options) as stage:
        first = fork(partial(_lead, stage))
        while not stage.receiver.arrivals():
            time.sleep(0.01)
        _try(stage, meeting, seconds=3 * BLOCKED_LEASE_S, namespace=False)
        stage.receiver.happened("release")
        join(first)
        _judge(stage, meeting)
    return asdict(meeting)


def _lead(stage: Stage) -> None:
    """Lead the run as the one who began it."""
    agent = stage.open()
    Person(stage, agent, "first").lead()
    agent.close()


def _try(stage: Stage, meeting: Meeting, seconds: float, namespace: bool) -> None:
    """Have another process try to go on with the run, again and again, for so long or until it may."""
    place = stage.workspace.parent / "tries"

    def work() -> None:
        agent, until = stage.open(), time.monotonic() + seconds
        tries: list[str] = []
        while time.monotonic() < until and (not tries or tries[-1]):
            try:
                agent.invoke(None, config(THREAD, "second"))
                tries.append("")
            except PlanwrightError as error:
                tries.append(f"{type(error).__name__}: {error}".replace("\n", " "))
                time.sleep(LEASE_S / 15)
        place.write_text("\n".join(tries))
        agent.close()

    join(in_namespace(work)[0] if namespace else fork(work))
    tries = place.read_text().split("\n") if place.exists() else []
    meeting.tried, meeting.refused = len(tries), sum(map(bool, tries))
    meeting.refusals = sorted(set(filter(None, tries)))[:3]
    went_on = meeting.refused < meeting.tried
    meeting.robbed = went_on and meeting.kind != "dead"
    if not tries:
        meeting.wrong.append("the second process died")
    elif not went_on and meeting.kind == "dead":
        meeting.wrong.append("the run of a dead owner does not go on")


def _judge(stage: Stage, meeting: Meeting) -> None:
    meeting.doubled, meeting.lost, meeting.left_in_doubt = effects_wrong(stage)
    (run,) = stage.rows("SELECT status FROM runs")
    if run["status"] != "completed":
        meeting.wrong.append(f"the run is {run['status']}")
