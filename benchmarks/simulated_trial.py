"""One seed: workers over one store, troubled at moments that the seed draws, and the verdict."""

from __future__ import annotations

import gc
import hashlib
import random
import sys
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.simulated_receivers import Receivers
from benchmarks.simulated_requests import draw
from benchmarks.simulated_spending import WORK_S, overspent, spend, timed_out
from benchmarks.simulated_time import World, step
from benchmarks.simulated_trouble import ACTIONS, OF_CLOCKS, calm_down, disturb
from benchmarks.simulated_truth import judge
from benchmarks.simulated_worker import Stage, Worker

STEPS, LONGEST_S = 150_000, 20 * 86_400.0
CALM_AFTER_S = 600.0
LAST_TROUBLE = 1200  # steps; half of all runs take 1,000
OFTEN = (0.0, 0.1, 0.4)
MOST_COLLECTIONS = 10


@dataclass
class Played:
    """What came of a seed; its `trace` is the same whenever it is played."""

    seed: int
    way: str
    status: str = ""
    steps: int = 0
    seconds: float = 0
    workers: int = 0
    effects: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    spans: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """Hash the trace."""
        return hashlib.sha256("\n".join(self.trace).encode()).hexdigest()


def play(seed: int, folder: Path, *, clocks: bool = False) -> Played:
    """Play one seed in a folder made for it; with `clocks`, nothing is troubled but the clock."""
    folder.mkdir(parents=True)
    with drawn_from(seed):  # nothing of a seed is referred to when that ends: it is collected
        return _play(seed, folder, clocks)


def _play(seed: int, folder: Path, clocks: bool) -> Played:
    stage = _stage(World(seed), folder, clocks)
    played = Played(seed, stage.request.way)
    _let_run(stage, played, clocks)
    judge(stage)
    stage.wrong += [*overspent(stage), *(timed_out(stage) if clocks else ())]
    for worker in stage.workers:
        worker.close()
    runs = stage.rows("SELECT status FROM runs ORDER BY rowid")
    stage.close()
    played.status = runs[-1]["status"] if runs else "no run"
    played.wrong, played.counts, played.seconds = stage.wrong, stage.counts, round(stage.world.now, 3)
    played.workers, played.effects = len(stage.workers), len(stage.receivers.happened)
    played.trace = [*stage.world.trace, f"ended as {played.status}", *stage.wrong]
    return played


def _ids(drawn: random.Random) -> Callable[[], uuid.UUID]:
    return lambda: uuid.UUID(int=drawn.getrandbits(128), version=4)


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """Make everything that this process draws follow from a seed, ids included, and collect no garbage."""
    drawn, state, hook = random.Random(f"ids {seed}"), random.getstate(), sys.unraisablehook
    random.seed(seed)
    gc.disable()  # what a collection ends would be one more step of a loop, at any moment
    gc.freeze()  # the collection at the end looks at what came of this seed only
    sys.unraisablehook = lambda _: None  # coroutines of workers that were killed end without a loop
    try:
        with mock.patch.object(uuid, "uuid4", _ids(drawn)):
            yield
    finally:
        random.setstate(state)
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # some had not begun
            for _ in range(MOST_COLLECTIONS):  # what goes on when it is told to end is garbage once more
                if not gc.collect():
                    break
        sys.unraisablehook = hook
        gc.unfreeze()
        gc.enable()


def _stage(world: World, folder: Path, clocks: bool) -> Stage:
    chance = world.chance
    request = draw(chance)
    receivers = Receivers(world, lambda name: stage.gated(name), 0.0 if clocks else chance.choice(OFTEN))
    stage = Stage(
        world,
        folder,
        request,
        receivers,
        settings=_of_time(chance) if clocks else _limits(chance),
        slow=clocks,
        requests=chance.randint(1, 3) if clocks else 1,
        model_oddity=[0.0 if clocks else chance.choice((0.0, 0.0, 0.15)), 0.0],
    )
    world.note(f"asked by {request.way}: {request.script.request}")
    for _ in range(chance.randint(1, 3)):
        Worker(stage)
    if clocks:
        spend(stage)
    return stage


def _limits(chance: random.Random) -> dict[str, Any]:
    settings: dict[str, Any] = {"execution": {"on_failed_dependency": chance.choice(("partial", "skip"))}}
    if chance.random() < 0.15:
        limit = chance.choice(("effects", "tool_calls", "tokens"))
        settings["budgets"] = {"run": {limit: 8192 if limit == "tokens" else chance.randint(1, 3)}}
    return settings


def _of_time(chance: random.Random) -> dict[str, Any]:
    """Limit nothing but the time a run is worked on, to more than a simulation takes."""
    return {**_limits(chance), "budgets": {"run": {"wall_clock_s": WORK_S}}}


def _let_run(stage: Stage, played: Played, clocks: bool) -> None:
    """Take steps until all has ended, with trouble in between; then nothing fails, and it has to end."""
    world, chance = stage.world, stage.world.chance
    calm_after_s = CALM_AFTER_S
    if clocks:  # people take their time, and the clock is turned while they do
        calm_after_s = 4 * stage.ttl_s
        for _ in range(chance.randint(1, 6)):
            world.later(chance.uniform(0, calm_after_s), lambda: disturb(stage, OF_CLOCKS))
    moments = sorted(chance.randrange(20, LAST_TROUBLE) for _ in range(chance.randint(0, 8)))
    while not _over(stage):
        if (moments and played.steps >= moments[0]) or not _awake(stage):
            moments = moments[1:]
            disturb(stage, OF_CLOCKS if clocks else ACTIONS)
        if not stage.calm and not moments and world.now > calm_after_s:
            calm_down(stage)
        played.steps += 1
        awake = [worker.loop for worker in stage.workers if worker.alive and not worker.paused]
        if not step(world, awake):
            moments = []
            calm_down(stage)
        if played.steps > STEPS or world.now > LONGEST_S:
            stage.wrong.append(f"it does not end within {played.steps} steps and {world.now:.0f} s")
            return


def _over(stage: Stage) -> bool:
    """Say that nobody has anything left to do, and somebody lives to say so."""
    return any(worker.alive for worker in stage.workers) and all(
        worker.work.done() for worker in stage.workers if worker.alive
    )


def _awake(stage: Stage) -> bool:
    return any(worker.alive and not worker.paused for worker in stage.workers)
