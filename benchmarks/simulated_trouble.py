"""What is done to a simulation: to workers, to their disks, and to the clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from benchmarks.simulated_store import MOMENTS, TEXTS
from benchmarks.simulated_worker import Stage, Worker

Action = Literal["kill", "pause", "wake", "start", "restart", "disk", "clock", "sleep"]
ACTIONS: tuple[Action, ...] = (
    "kill",
    "kill",
    "pause",
    "wake",
    "start",
    "restart",
    "disk",
    "disk",
    "clock",
    "sleep",
)
OF_CLOCKS: tuple[Action, ...] = ("clock", "clock", "clock", "sleep", "start")
DAY_S = 86_400
TURNS = {"a day on": DAY_S, "a day back": -DAY_S, "an hour back": -3600, "5 s back": -5, "frozen": 0}


def disturb(stage: Stage, actions: tuple[Action, ...]) -> None:
    """Do one thing to somebody, or to the clock."""
    chance = stage.world.chance
    living = [worker for worker in stage.workers if worker.alive and not worker.paused]
    paused = [worker for worker in stage.workers if worker.alive and worker.paused]
    action = chance.choice(actions) if living else chance.choice(("wake", "start"))
    if action == "wake" and not paused:
        action = "start"
    stage.world.note(f"trouble: {action}")
    stage.count(action)
    if action == "kill":
        chance.choice(living).kill()
    elif action == "pause":
        chance.choice(living).paused = True
    elif action == "wake":
        chance.choice(paused).paused = False
    elif action == "clock":
        _turn_clock(stage)
    elif action == "sleep":
        stage.world.now += chance.uniform(600, 7200)
    elif action == "disk":
        disk = chance.choice(living).disk
        disk.moment, disk.text, disk.left = chance.choice(MOMENTS), chance.choice(TEXTS), chance.randint(1, 4)
        stage.world.note(f"disk: {disk.text} at {disk.moment}, {disk.left} times")
    else:
        if action == "restart":
            _restart(stage)
        Worker(stage)


def calm_down(stage: Stage) -> None:
    """Let nothing fail any more, wake whoever is paused, and see that somebody is there."""
    stage.world.note("calm from here on")
    stage.calm, stage.receivers.oddity, stage.model_oddity[:] = True, 0.0, [0.0, 0.0]
    for worker in stage.workers:
        worker.disk.left, worker.paused = 0, False
    if not any(worker.alive and not worker.work.done() for worker in stage.workers):
        Worker(stage)


def _restart(stage: Stage) -> None:
    """End every process and start the machine anew."""
    for worker in stage.workers:
        if worker.alive:
            worker.kill()
    stage.world.start_again()


def _turn_clock(stage: Stage) -> None:
    name = stage.world.chance.choice(list(TURNS))
    stage.world.note(f"clock: {name}")
    stage.count(name)
    if by := TURNS[name]:
        stage.world.set_clock(timedelta(seconds=by))
    else:
        stage.world.freeze_clock()
