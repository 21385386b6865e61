"""One run that dies at a system call, a world that changes then, and a person who goes on by commands."""

from __future__ import annotations

import re
import shlex
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.counting_receiver import receiving
from benchmarks.crash_calls_trial import Kill
from benchmarks.world_changes import CHANGES, Change
from benchmarks.world_files import EffectClass, World
from benchmarks.world_person import WorldPerson
from benchmarks.world_shapes import SHAPES
from benchmarks.world_stage import Ended, WorldStage
from benchmarks.world_verdict import Verdict, judge, watch

KILLED, MOST, REFUSED = -9, 16, 3
ADVICE = re.compile(r"planwright (?:resume|respond|approve|db|cancel|go)\b[^\n;`…]*")
POINT = re.compile(r"(\d+):([wsnt*])(\d+)([bma])")


@dataclass(frozen=True)
class Point:
    """Where a process dies: in which command of the person, counted from 0, and at which of its calls."""

    command: int
    kill: Kill

    def __str__(self) -> str:
        return f"{self.command}:{self.kill.kind}{self.kill.at}{self.kill.when}"


@dataclass(frozen=True)
class Case:
    """What is played: a shape, a change of the world, a class of effects, and where processes die."""

    shape: str
    change: str
    effect: EffectClass
    points: tuple[Point, ...]

    def __str__(self) -> str:
        where = ",".join(map(str, self.points))
        return f"{self.shape}/{self.change}/{self.effect}/{where}"

    @classmethod
    def read(cls, text: str) -> Case:
        """Read a case as it is printed."""
        shape, change, effect, where = text.split("/")
        points = tuple(
            Point(int(command), Kill(int(at), kind, when)) for command, kind, at, when in POINT.findall(where)
        )
        return cls(shape, change, effect, points)  # type: ignore[arg-type]


@dataclass
class Played:
    """How a case went: which calls processes died at, how many effects they left begun, and the verdict."""

    killed: list[str] = field(default_factory=list)
    begun: int = 0
    calls: list[tuple[str, ...]] = field(default_factory=list)
    refusals: int = 0
    verdict: Verdict = field(default_factory=Verdict)


def play(case: Case, folder: Path) -> dict[str, Any]:
    """Run, kill, change the world, go on to the end and judge, in a folder made for it."""
    shape, change, played = SHAPES[case.shape], CHANGES[case.change], Played()
    with receiving(shape.script) as receiver:
        stage = WorldStage(folder, receiver, shape, case.effect)
        stage.write(change.first)
        try:
            stuck = _led(stage, change, case.points, played)
            receiver.happened("quiet")
            judge(stage, change, stuck, played.verdict)
        except Exception:  # noqa: BLE001 - one that cannot be played is a finding, and others go on
            played.verdict.stuck.append(traceback.format_exc(limit=-3))
    return {
        "case": str(case),
        "killed": played.killed,
        "begun": played.begun,
        "refusals": played.refusals,
        "commands": len(stage.ended),
        "calls": played.calls if not case.points else [],
        **vars(played.verdict),
        "said": [_told(ended) for ended in stage.ended] if played.verdict.bad else [],
    }


def _told(ended: Ended) -> str:
    return f"$ planwright {shlex.join(ended.args)} -> {ended.code}\n{ended.said}"


def _led(stage: WorldStage, change: Change, points: Sequence[Point], played: Played) -> str:
    """Lead the run to its end; say what it was refused in the end, "" where it was not."""
    person, world, due = WorldPerson(stage), change.first, {point.command: point.kill for point in points}
    refused = 0
    for number in range(MOST):
        if not (command := person.next_command(world)):
            return ""
        kill = due.get(number, Kill(0) if not points else None)
        if kill and change.restores and not played.killed:
            _back_up(stage, world)
        before = stage.progress()
        ended = stage.planwright(command, world, kill)
        played.calls.append(ended.calls)
        if ended.code == KILLED:
            stage.receiver.happened("quiet")
            played.killed.append(ended.calls[-1] if ended.calls else "unknown")
            played.begun += len(stage.rows("SELECT 1 FROM effects WHERE status = 'intent'"))
            if len(played.killed) == 1:
                world = _changed(stage, change)
            continue
        watch(stage, ended, played.verdict, killed=bool(played.killed))
        if stage.progress() != before:
            refused = 0
            continue
        refused += 1
        played.refusals += 1
        if refused > REFUSED:
            return ended.said[-600:]
        world = _heed(stage, ended, world, played.verdict)
    return "it does not end"


def _changed(stage: WorldStage, change: Change) -> World:
    stage.write(change.then)
    if change.restores and _backup(stage).exists():
        stage.command("db", "restore", str(_backup(stage)))
    return change.then


def _back_up(stage: WorldStage, world: World) -> None:
    if (stage.workspace / ".planwright").exists():
        stage.command("db", "backup", str(_backup(stage)))


def _backup(stage: WorldStage) -> Path:
    return stage.folder / "backup.tar.gz"


def _heed(stage: WorldStage, refused: Ended, world: World, verdict: Verdict) -> World:
    """Do what a refusal says: set the clock right, or give the command that it names."""
    if world.clock_s and "clock" in refused.said:
        return replace(world, clock_s=0)
    heard = ADVICE.findall(refused.stderr)
    for advice in heard:
        words = shlex.split(advice)[1:]
        if not any(word.isupper() for word in words):
            ended = stage.planwright(words, world)
            watch(stage, ended, verdict, killed=True)
            heard += [
                more for more in ADVICE.findall(ended.stdout) if more not in heard and more.startswith(advice)
            ]
    return world
