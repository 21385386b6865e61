"""One run whose store goes back after its process died: its log is damaged, or it is put back.

What the receiver has then, and the store has not, is what would be made again. Whoever opens the store next
has to be told before anything is made; then a person says go, and leads what is on record to its end.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from benchmarks.counted_person import Outcome, Person
from benchmarks.counted_shapes import SHAPES
from benchmarks.counted_stage import Stage, fork, join, rows_of, staged
from benchmarks.counted_verdict import effects_wrong
from benchmarks.damaged_logs import DAMAGES, Damage
from planwright.graph.agent import Agent
from planwright.records.records import open_records
from planwright.state.invocation import utc_now
from planwright.store.database import Boundary
from planwright.upkeep.backup import back_up
from planwright.upkeep.restore import restore
from tests.postgres_server import PostgresServer, new_folder

Way = Literal["log", "copy", "file alone", "restore", "base backup", "standby"]
WAYS: tuple[Way, ...] = ("copy", "file alone", "restore", "base backup", "standby")
ON_SERVER = frozenset(("base backup", "standby"))
TOLD, NOTHING = "StoreWentBack", "nothing to go back to"
RECORD, SIDES = "planwright.db", ("", "-wal", "-shm")
BEGUN = "SELECT capability, json_extract(args, '$.name') AS name FROM effects"


@dataclass(frozen=True)
class Point:
    """Where a process dies, and how its store goes back: to what it was `since` so many boundaries."""

    shape: str
    way: Way
    at: int
    since: int = 0
    seed: int = 0
    marked: bool = True

    def open(self, stage: Stage, boundary: Boundary | None = None) -> Agent:
        """Open an agent; one that is not `marked` shows what a store without a mark would do."""
        agent = stage.open(boundary)
        if not self.marked:
            agent.stores.database.mark = None
        return agent


@dataclass
class Trial:
    """One run, judged. `lacking` is what the receiver had and the store had not when it went back."""

    shape: str
    way: str
    at: int
    boundaries: int = 0
    damage: str = ""
    happened: int = 0
    lacking: list[str] = field(default_factory=list)
    told: bool = False
    unsent: bool = False
    missed: bool = False
    doubled: list[str] = field(default_factory=list)
    doubled_unseen: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def play(point: Point, folder: Path) -> dict[str, Any]:
    """Let a process die, its store go back, and others go on with it; judge. Call it where no thread runs."""
    trial = Trial(point.shape, point.way, point.at)
    if point.way not in ON_SERVER:
        with staged(SHAPES[point.shape], folder, fresh=point.seed % 2 == 0) as stage:
            _played(point, stage, trial, None)
        return asdict(trial)
    server = PostgresServer.start()
    try:
        with staged(SHAPES[point.shape], folder, url=server.url()) as stage:
            _played(point, stage, trial, server)
    finally:
        server.remove()
    return asdict(trial)


def _played(point: Point, stage: Stage, trial: Trial, server: PostgresServer | None) -> None:
    past = Past.of(point, stage, server)
    trial.boundaries = _disturbed(point, stage, past)
    if not point.at:
        return
    try:
        now = past.put_back()
        trial.damage = past.words if now else NOTHING
        if now is not None:
            _gone_on(now, trial, point)
    finally:
        past.close()


def _gone_on(stage: Stage, trial: Trial, point: Point) -> None:
    """See what the store lacks; lead the run on, and once more after somebody has said go."""
    happened = Counter(one.name for one in stage.receiver.happened("quiet"))
    trial.happened = happened.total()
    trial.lacking = sorted((happened - Counter(_begun(stage))).elements())
    outcome = _led(stage, point, Person)
    trial.told = any(TOLD in refusal for refusal in outcome.refusals)
    trial.missed, trial.unsent = bool(trial.lacking) and not trial.told, trial.told and not trial.lacking
    if not trial.told:
        trial.doubled_unseen = effects_wrong(stage)[0]
    again = Counter(one.name for one in stage.receiver.happened("quiet"))
    if trial.told and again != happened:
        trial.doubled_unseen = sorted((again - happened).elements())
    if trial.told:
        outcome = _led(stage, point, Informed, before=_say_go)
        trial.doubled = effects_wrong(stage)[0]
    trial.refusals = outcome.refusals
    if not outcome.ended:
        trial.wrong.append(f"it does not go on: {outcome.problem or outcome.refusals}")


class Informed(Person):
    """Somebody who was told what the store lacks: they go on with what is on record, and ask nothing anew."""

    def step(self) -> bool:
        """Take one step; say whether all that is on record has ended."""
        open_ = self.stage.rows("SELECT * FROM runs WHERE ended_at IS NULL ORDER BY rowid")
        if open_:
            self._go_on(open_[0])
        return not open_

    def _answer(self, gate: Mapping[str, Any]) -> dict[str, Any]:
        """Say of what is in doubt what the receiver has under its key; its arguments may be unknown."""
        shown = json.loads(gate["shown"])
        if not shown.get("in_doubt"):
            return super()._answer(gate)
        names = {one.key: one.name for one in self.stage.receiver.happened()}
        query = "SELECT coalesce(first_key, key) AS sent FROM effects WHERE key = ?"
        effects = []
        for effect in shown["effects"]:
            name = names.get(self.stage.rows(query, effect["key"])[0]["sent"])
            answer = {"happened": True, "result": {"name": name}} if name else {"happened": False}
            effects.append({"key": effect["key"], **answer})
        self.outcome.doubts += 1
        return {"gate_id": gate["gate_id"], "decided_by": "kim", "type": "respond", "effects": effects}


@dataclass
class Past:
    """What the store goes back to: `remember` is called at the boundary that it was so at."""

    point: Point
    stage: Stage
    words: str = ""

    @classmethod
    def of(cls, point: Point, stage: Stage, server: PostgresServer | None) -> Past:
        """Choose by the way in which it goes back."""
        if server is not None:
            return ServerPast(point, stage, server=server)
        return (LogPast if point.way == "log" else FilePast)(point, stage)

    @property
    def kept(self) -> Path:
        """Where the older store is kept."""
        return self.stage.workspace.parent / "kept"

    def remember(self) -> None:
        """Keep the store as it is at this moment."""

    def put_back(self) -> Stage | None:
        """Bring the store back to it; None where there is nothing to go back to."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what serves it."""


class LogPast(Past):
    """The log of a dead process is damaged: the store is what can be read of it."""

    def put_back(self) -> Stage | None:
        """Damage the log in a way that the dice choose."""
        log, dice = self.stage.store / f"{RECORD}-wal", random.Random(self.point.seed)
        if not log.exists() or not log.stat().st_size:
            return None
        damage: Damage = dice.choice(DAMAGES)
        self.words = damage(log, dice)
        if dice.random() < 0.5:  # else it is as long as the dead process left it
            log.with_name(f"{RECORD}-shm").unlink(missing_ok=True)
        return self.stage


class FilePast(Past):
    """The files of an earlier moment are put in place by hand, or a backup by its command."""

    def remember(self) -> None:
        """Copy the files, or take a backup."""
        if self.point.way == "restore":
            back_up(self.stage.store, self.kept, utc_now())
            return
        self.kept.mkdir()
        for side in SIDES[:2] if self.point.way == "copy" else SIDES[:1]:
            if (path := self.stage.store / f"{RECORD}{side}").exists():
                shutil.copy(path, self.kept)

    def put_back(self) -> Stage | None:
        """Put them in the place of what is there."""
        self.words = self.point.way
        if not self.kept.exists():
            return None
        if self.point.way == "restore":
            join(fork(lambda: restore(self.kept, self.stage.store, utc_now())))
            return self.stage
        for side in SIDES:
            (self.stage.store / f"{RECORD}{side}").unlink(missing_ok=True)
        for path in self.kept.iterdir():
            shutil.copy(path, self.stage.store)
        return self.stage


@dataclass
class ServerPast(Past):
    """A base backup is started, or a standby that was behind is promoted, and the address is its own."""

    server: PostgresServer = field(kw_only=True)
    folder: Path = field(default_factory=new_folder)
    other: PostgresServer | None = None

    def __post_init__(self) -> None:
        if self.point.way == "standby":
            self.server.take_copy(self.folder, standby=True)
            self.other = PostgresServer.of_copy(self.folder)

    def remember(self) -> None:
        """Take the backup; or let the standby hear of nothing that comes later."""
        if self.other is None:
            self.server.take_copy(self.folder)
        else:
            self.other.catch_up(self.server)
            self.other.kill()

    def put_back(self) -> Stage | None:
        """Start it."""
        self.words = self.point.way
        if self.other is None and (self.folder / "data").exists():
            self.other = PostgresServer.of_copy(self.folder)
        elif self.other is not None and self.other.process.poll() is not None:
            self.other.promote_alone()
        else:
            return None
        return replace(self.stage, url=self.other.url())

    def close(self) -> None:
        """Remove it."""
        if self.other is not None:
            self.other.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


def _disturbed(point: Point, stage: Stage, past: Past) -> int:
    """Lead the run in a process that dies at its n-th boundary, at 0 to its end; count boundaries."""
    place = stage.workspace.parent / "boundaries"
    count = 0

    def boundary(name: str) -> None:
        nonlocal count
        count += 1
        place.write_text(str(count))
        if point.at and count == max(1, point.at - point.since):
            past.remember()
        if count == point.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        agent = point.open(stage, boundary)
        try:
            Person(stage, agent, "first").lead()
        finally:
            agent.close()

    join(fork(work))
    return int(place.read_text()) if place.exists() else 0


def _led(
    stage: Stage, point: Point, kind: type[Person], before: Callable[[Stage], object] | None = None
) -> Outcome:
    """Lead what is on record in a new process."""
    place = stage.workspace.parent / f"{kind.__name__}.json"

    def work() -> None:
        outcome = Outcome()
        try:
            if before is not None:
                before(stage)
            agent = point.open(stage)
            kind(stage, agent, kind.__name__, patience=2, outcome=outcome).lead()
            agent.close()
        except Exception:  # noqa: BLE001 - whatever it raises is a finding
            outcome.problem = traceback.format_exc(limit=-3)
        place.write_text(json.dumps(asdict(outcome)))

    code = join(fork(work))
    if not place.exists():
        return Outcome(problem=f"the process ended with {code}")
    return Outcome(**json.loads(place.read_text()))


def _say_go(stage: Stage) -> None:
    with closing(open_records(stage.store, url=stage.url)) as records:
        mark, call = records.mark, records.database.call
        setback = call("accept", lambda connection: mark.compare(connection).setback)
        assert setback is not None, "there was a refusal, and the store lacks nothing"
        call("accept", lambda connection: mark.accept(connection, setback.id, "kim"))


def _begun(stage: Stage) -> list[str]:
    """Name the effects on record, as their receiver names them; nothing is changed by the look."""
    if stage.url:
        rows = stage.rows(BEGUN)
    else:
        copy = stage.workspace.parent / "looked-at"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for side in SIDES[:2]:
            if (path := stage.store / f"{RECORD}{side}").exists():
                shutil.copy(path, copy)
        rows = rows_of(copy / RECORD, BEGUN)
    return [f"not {row['name']}" if row["capability"] == "bench.unbook" else row["name"] for row in rows]
