"""One seed: workers over one store, disturbed at moments that the seed draws, and the verdict."""

from __future__ import annotations

import gc
import hashlib
import json
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from unittest import mock

from benchmarks.simulated_receivers import Receivers
from benchmarks.simulated_requests import draw
from benchmarks.simulated_store import MOMENTS, TEXTS
from benchmarks.simulated_time import World, step
from benchmarks.simulated_truth import judge
from benchmarks.simulated_worker import Stage, Worker

STEPS, LONGEST_S = 200_000, 20 * 86_400.0
CALM_AFTER_S = 600.0
ACTIONS = ("kill", "pause", "wake", "clock", "disk", "start", "restart")


@dataclass
class Played:
    """What came of a seed."""

    seed: int
    way: str
    status: str = ""
    steps: int = 0
    seconds: float = 0
    digest: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)


@contextmanager
def chance_of(seed: int) -> Iterator[None]:
    """Make everything that is drawn in this process follow from a seed, ids included."""
    drawn = random.Random(f"ids {seed}")
    state = random.getstate()
    random.seed(seed)
    gc.disable()  # a collection at some other moment would be another step of a loop
    try:
        with mock.patch.object(uuid, "uuid4", lambda: uuid.UUID(int=drawn.getrandbits(128), version=4)):
            yield
    finally:
        random.setstate(state)
        gc.enable()


def play(seed: int, folder: Path) -> Played:
    """Play one seed in a folder made for it."""
    with chance_of(seed):
        return _play(seed, folder)


def _play(seed: int, folder: Path) -> Played:
    world = World(seed)
    request = draw(world.chance)
    played = Played(seed, request.way)
    folder.mkdir(parents=True)
    oddity = world.chance.choice((0.0, 0.1, 0.4))
    receivers = Receivers(world, lambda name: gated(stage, name), oddity)
    stage = Stage(world, folder, request, receivers, {}, [world.chance.choice((0.0, 0.0, 0.15))])
    world.note(f"asked by {request.way}: {request.script.request}")
    for _ in range(world.chance.randint(1, 3)):
        Worker(stage)
    moments = sorted(world.chance.randrange(20, 4000) for _ in range(world.chance.randint(0, 8)))
    while not _over(stage):
        if (moments and played.steps >= moments[0]) or not _awake(stage):
            if moments:
                moments.pop(0)
            _disturb(stage)
        if not stage.calm and not moments and world.now > CALM_AFTER_S:
            calm_down(stage)
        played.steps += 1
        if not step(world, [worker.loop for worker in stage.workers if worker.alive and not worker.paused]):
            if not moments and stage.calm:
                break
            if not stage.calm:
                moments.clear()
                calm_down(stage)
        if played.steps > STEPS or world.now > LONGEST_S:
            stage.wrong.append(f"it does not end within {played.steps} steps and {world.now:.0f} s")
            break
    judge(stage)
    for worker in stage.workers:
        worker.disk.gone = True
        worker.close()
    played.wrong, played.counts, played.seconds = stage.wrong, stage.counts, world.now
    runs = stage.rows("SELECT status FROM runs ORDER BY rowid")
    played.status = runs[-1]["status"] if runs else "no run"
    played.trace = [*world.trace, f"ended as {played.status}", *stage.wrong]
    played.digest = hashlib.sha256("\n".join(played.trace).encode()).hexdigest()
    return played


def _over(stage: Stage) -> bool:
    return all(worker.work.done() or not worker.alive for worker in stage.workers) and any(
        worker.alive for worker in stage.workers
    )


def _awake(stage: Stage) -> bool:
    return any(worker.alive and not worker.paused for worker in stage.workers)


def calm_down(stage: Stage) -> None:
    """Let nothing fail any more, wake whoever is paused, and see that somebody is there."""
    stage.world.note("calm from here on")
    stage.calm, stage.receivers.oddity, stage.model_oddity[0] = True, 0.0, 0.0
    for worker in stage.workers:
        worker.disk.left, worker.paused = 0, False
    if not any(worker.alive and not worker.work.done() for worker in stage.workers):
        Worker(stage)


def _disturb(stage: Stage) -> None:
    """Do one thing to somebody, or to the clock."""
    world, chance = stage.world, stage.world.chance
    living = [worker for worker in stage.workers if worker.alive and not worker.paused]
    paused = [worker for worker in stage.workers if worker.alive and worker.paused]
    action = chance.choice(ACTIONS) if living else chance.choice(("wake", "start"))
    if action == "wake" and not paused:
        action = "start"
    world.note(f"disturbed: {action}")
    stage.count(action)
    if action == "kill":
        chance.choice(living).kill()
    elif action == "pause":
        chance.choice(living).paused = True
    elif action == "wake":
        chance.choice(paused).paused = False
    elif action == "clock":
        _turn_clock(stage)
    elif action == "disk":
        disk = chance.choice(living).disk
        disk.moment, disk.text, disk.left = chance.choice(MOMENTS), chance.choice(TEXTS), chance.randint(1, 4)
        world.note(f"disk: {disk.moment} {disk.text} {disk.left} times")
    elif action == "start":
        Worker(stage)
    else:
        for worker in stage.workers:
            if worker.alive:
                worker.kill()
        world.start_again()
        Worker(stage)


def _turn_clock(stage: Stage) -> None:
    chance = stage.world.chance
    by = chance.choice((86_400, -86_400, -5, -3600, 0))
    stage.world.note(f"clock: {by}")
    if by:
        stage.world.set_clock(timedelta(seconds=by))
    else:
        stage.world.freeze_clock()


def gated(stage: Stage, name: str) -> bool:
    """Say whether a person has approved of something that names an effect."""
    query = "SELECT shown FROM gates WHERE status = 'approved'"
    return any(name in row["shown"] for row in stage.rows(query))


def as_row(played: Played) -> dict[str, object]:
    """Leave the trace out of a table."""
    return {name: value for name, value in json.loads(json.dumps(asdict(played))).items() if name != "trace"}
