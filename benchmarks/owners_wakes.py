"""A process is stopped in the middle of its run, another takes the run over, and the first one wakes up.

Three orders: it wakes when the other has come as far as it can (`after`), at some commit of the other
(`during`), or just before the other takes over (`before`). Each effect has to happen once, and what wakes up
may change nothing any more. An effect that was under way when its process stopped cannot be decided while
that process lives: then it is killed, and somebody finishes the run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from benchmarks.counted_person import Outcome
from benchmarks.counted_shapes import OWNED, SHAPES
from benchmarks.counted_stage import Stage, join, staged
from benchmarks.counted_verdict import effects_wrong, unsettled
from benchmarks.owners_processes import (
    First,
    Taken,
    checkpointed_late,
    contents,
    finish,
    take_over,
    taken,
    token,
    written,
)

Order = Literal["after", "during", "before"]
ORDERS: tuple[Order, ...] = ("after", "during", "before")
LEASE_S, BUSY_S, LATE_S, LONGEST_S = 0.3, 1, 20, 0.6
FENCED = "planwright: after lease"  # until then the first may still write
WAKES_WITHIN = 24  # about as many boundaries as a run has that goes on from its middle
BOUNDARIES = {"a plan": 43, "a sequence": 55, "a chain": 89, "a loop": 65}  # about as many as each has
BUSY = "is being worked on by"
CLEAR = ("LeaseLost", "GateError", "no error")  # lost, answered by somebody else, nothing left to do


@dataclass(frozen=True)
class Draw:
    """Where a process is stopped (at its n-th boundary of a name, or after seconds), and when it wakes."""

    number: int
    shape: str
    order: Order
    boundary: int
    only: str
    seconds: float
    wakes_at: int
    asks_first: bool


@dataclass
class Wake:
    """One trial, judged.

    `undecided`: what was under way could be decided only when its process was dead. `mid_commit`: it was
    stopped in a transaction, which nobody can write beside and which it may finish.
    """

    draw: dict[str, Any]
    stopped: bool = False
    taken: bool = False
    robbed: bool = False
    undecided: bool = False
    mid_commit: bool = False
    mixed: bool = False
    doubled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    left_in_doubt: list[str] = field(default_factory=list)
    stale_rows: int = 0
    stale_bytes: int = 0
    late_checkpoints: int = 0
    woken: str = ""
    refusals: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def draws(seed: int) -> Iterator[Draw]:
    """Draw trials without end; shapes and orders take turns, moments are mixed."""
    number = 0
    while True:
        drawn = random.Random(f"{seed}:{number}")
        how = drawn.choice(("at any time", "at a commit", "while it sends"))
        shape = OWNED[number % len(OWNED)]
        yield Draw(
            number=number,
            shape=shape,
            order=ORDERS[number // len(OWNED) % len(ORDERS)],
            boundary=_boundary(drawn, how, shape),
            only="intent" if how == "while it sends" else "",
            seconds=drawn.uniform(0.01, LONGEST_S) if how == "at any time" else 0,
            wakes_at=drawn.randrange(1, WAKES_WITHIN),
            asks_first=drawn.random() < 0.1,
        )
        number += 1


def _boundary(drawn: random.Random, how: str, shape: str) -> int:
    if how == "while it sends":
        return 2 * drawn.randrange(1, len(SHAPES[shape].effects) + 1)  # after its commit, before the request
    return drawn.randrange(1, BOUNDARIES[shape]) if how == "at a commit" else 0


def trial(draw: Draw, folder: Path) -> dict[str, Any]:
    """Play one trial in a folder made for it."""
    wake = Wake(asdict(draw))
    with staged(SHAPES[draw.shape], folder, fresh=False, lease_s=LEASE_S, busy_timeout_s=BUSY_S) as stage:
        first = First.start(stage, draw.boundary, draw.only)
        wake.stopped = first.stop(draw.seconds) and token(stage)[1]
        try:
            last = _second(draw, stage, first, wake) if wake.stopped else Outcome()
        finally:
            first.kill()
        if not last.ended:
            wake.undecided = wake.taken
            last = finish(stage)
        _judge(stage, last, wake)
    return asdict(wake)


def _second(draw: Draw, stage: Stage, first: First, wake: Wake) -> Outcome:
    """Let a second process take over, and the first one wake up."""
    held, before = token(stage)[0], written(first.pid)
    if draw.order == "before":
        first.wake()
    place, seen = stage.workspace.parent / "second.json", [0]

    def trap(name: str) -> None:
        taken_over = name == FENCED and token(stage)[0] > held
        if draw.order == "during" and (seen[0] or taken_over):
            seen[0] += 1
            if seen[0] == draw.wakes_at:
                first.wake()

    join(take_over(stage, place, trap, asks_first=draw.asks_first and draw.order != "before"))
    second = taken(place)
    wake.refusals, wake.robbed = second.outcome.refusals, second.robbed
    wake.mixed = bool(second.outcome.mixed)
    if second.outcome.problem:
        wake.wrong.append(f"the second process: {second.outcome.problem}")
    wake.taken = token(stage)[0] > held if second.took is None else second.took
    wake.mid_commit = any("locked" in refusal for refusal in second.outcome.refusals)
    rows = contents(stage) if draw.order == "after" else set()
    first.wake()
    if not first.ended(LATE_S):
        wake.wrong.append("the woken process did not end")
        return second.outcome
    assert first.report is not None
    wake.woken = "; ".join(first.report["refusals"]) or first.report["problem"] or "no error"
    if wake.taken and not wake.mid_commit:
        _judge_woken(stage, first, wake, second, before, rows)
    return second.outcome


def _judge_woken(
    stage: Stage, first: First, wake: Wake, second: Taken, before: int, rows: set[tuple[Any, ...]]
) -> None:
    """Say what a process wrote that woke up when its run was another's; `rows` are those of before, if any.

    That calls have ended that it was sending it may write down, and that a person has decided.
    """
    assert first.report is not None
    changed = rows ^ contents(stage) if rows else set()
    wake.stale_rows = sum(first.sending.isdisjoint(row) for row in changed)
    last = stage.rows("SELECT run_id FROM runs WHERE owner LIKE ?", f"%:{first.pid}:%")
    # It began anew, as anybody may: while the second was at it, or when that had let the run go.
    back = bool(last) or any(BUSY in refusal for refusal in second.outcome.refusals)
    stale = first.report["written"] - before - first.decided_since(before)
    stale = stale if wake.draw["order"] != "before" and not back and not first.sending else 0
    wake.stale_bytes = 0 if stale in _blobs(stage) else stale
    wake.late_checkpoints = checkpointed_late(stage)
    if not wake.woken.startswith(CLEAR) and BUSY not in wake.woken:
        wake.wrong.append(f"the woken process ended with {wake.woken}")


def _blobs(stage: Stage) -> set[int]:
    """List the sizes of the blobs: one is named by its content, so to write it again changes nothing."""
    folder = stage.workspace / ".planwright" / "blobs"
    return {path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def _judge(stage: Stage, last: Outcome, wake: Wake) -> None:
    """Say what is wrong with the effects and with the end."""
    wake.doubled, wake.lost, wake.left_in_doubt = effects_wrong(stage)
    wake.mixed = wake.mixed or bool(last.mixed)
    if not last.ended:
        wake.wrong.append(f"the run does not end: {last.problem or last.refusals[-1:]}")
        return
    runs = stage.rows("SELECT run_id, status FROM runs ORDER BY rowid")
    statuses = tuple(run["status"] for run in runs)
    if statuses != stage.shape.ends and not wake.mixed:
        wake.wrong.append(f"the run ended as {', '.join(statuses)}")
    wake.wrong += unsettled(stage)
    ends = stage.rows("SELECT count(*) AS n FROM journal WHERE type = 'run_end'")[0]["n"]
    if ends != len(runs):
        wake.wrong.append(f"the journal tells {ends} ends of {len(runs)} runs")


def works(seed: int) -> Iterator[partial[dict[str, Any]]]:
    """Make the trials of a seed, one after another."""
    return (partial(trial, draw) for draw in draws(seed))
