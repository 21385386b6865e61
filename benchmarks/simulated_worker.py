"""One worker of a simulation: an agent of its own over the shared store, and the person in front of it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from langgraph.types import Command

from benchmarks.counted_stage import THREAD, config
from benchmarks.simulated_receivers import Receivers, sending
from benchmarks.simulated_requests import Request, SimulatedModel
from benchmarks.simulated_store import Disk, SimulatedDatabase, SimulatedHeartbeat
from benchmarks.simulated_time import SimulatedLoop, World
from benchmarks.simulated_truth import early, stale
from planwright.capabilities.contract import Capability
from planwright.domain.clock import Timer
from planwright.domain.doubt import EffectAnswer
from planwright.domain.errors import PlanwrightError
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.records.ownership.leases import Leases
from planwright.records.stores import Stores, open_stores
from planwright.settings.settings import Settings, load
from planwright.store.owners import Owners, folder_of

PEOPLE = ("kim", "sam", "ada")
ROUNDS = 400


@dataclass
class Stage:
    """What all workers of a simulation share."""

    world: World
    workspace: Path
    request: Request
    receivers: Receivers
    settings: dict[str, Any]
    model_oddity: list[float]
    calm: bool = False
    slow: bool = False
    requests: int = 1
    workers: list[Worker] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    days: set[str] = field(default_factory=set)
    holders: dict[int, str] = field(default_factory=dict)
    opened: dict[str, tuple[float, int]] = field(default_factory=dict)
    expired: set[str] = field(default_factory=set)
    readers: dict[str, sqlite3.Connection] = field(default_factory=dict)

    @property
    def ttl_s(self) -> int:
        """How long a gate stays open, in seconds."""
        return 3600

    @property
    def strict(self) -> bool:
        """Whether nothing begins without all that it depends on."""
        return bool(self.settings["execution"]["on_failed_dependency"] == "skip")

    @cached_property
    def loaded(self) -> Settings:
        """The settings of every worker."""
        return load(
            self.workspace,
            sessions={"lease_s": 60, "gate_ttl_s": self.ttl_s},
            failover={"jitter": 0},
            **self.settings,
        )

    @cached_property
    def capabilities(self) -> list[Capability]:
        """What every worker can do."""
        return sending(self.receivers)

    @property
    def store(self) -> Path:
        """The folder of the databases."""
        return self.workspace / ".planwright"

    def rows(self, query: str, *values: Any, name: str = "planwright") -> list[dict[str, Any]]:
        """Read rows of a database with plain SQLite; none where there is no such database or table."""
        if name not in self.readers:
            path = self.store / f"{name}.db"
            if not path.exists():
                return []
            self.readers[name] = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            self.readers[name].row_factory = sqlite3.Row
        try:
            return [dict(row) for row in self.readers[name].execute(query, values)]
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise

    def gated(self, name: str) -> bool:
        """Say whether a person has approved of something that names an effect."""
        query = "SELECT 1 FROM gates WHERE status = 'approved' AND instr(shown, ?) LIMIT 1"
        return bool(self.rows(query, name))

    def close(self) -> None:
        """Stop reading."""
        for reader in self.readers.values():
            reader.close()

    def count(self, what: str, times: int = 1) -> None:
        """Count something that took place."""
        self.counts[what] = self.counts.get(what, 0) + times

    def ended(self) -> bool:
        """Say whether there is a run, and all runs have ended."""
        runs = self.rows("SELECT ended_at FROM runs")
        return bool(runs) and all(run["ended_at"] for run in runs)


class Worker:
    """A process that is none: a loop, an agent, its owner's name and its disk."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.number = len(stage.workers) + 1
        self.name = f"worker {self.number}"
        self.loop = SimulatedLoop(stage.world, self.name)  # type: ignore[abstract] # what nothing here asks for
        self.disk = Disk()
        self.alive, self.paused = True, False
        self.owners = Owners(folder_of(stage.store / "planwright.db"))
        self.owner = self.owners.me()
        stage.workers.append(self)
        self.agent = self._open()
        self.work = self.loop.create_task(self.lead())

    def _open(self) -> Agent:
        stage, world = self.stage, self.stage.world
        settings = stage.loaded
        timer = Timer(world.ticks, f"boot-{world.boot}")
        kind = partial(SimulatedDatabase, loop=self.loop, disk=self.disk, committed=self._committed)
        stores = open_stores(
            settings.store_folder, boundary=self._note, clock=world.clock, timer=timer, kind=kind
        )
        return build_graph(
            settings,
            model=SimulatedModel(stage.request.script, world, stage.model_oddity),
            capabilities=stage.capabilities,
            stores=self._simulated(stores),
            timer=timer,
        )

    def _simulated(self, stores: Stores) -> Stores:
        beat = SimulatedHeartbeat(self.loop)
        return replace(stores, leases=Leases(stores.database, self.owners, self.stage.world.ticks, beat))

    def _note(self, name: str) -> None:
        self.stage.world.note(f"{self.name} {name}")

    def _committed(self, store: str, names: frozenset[str], changed: int) -> None:
        if not changed:
            return
        look = stale(self.stage, self, store, names)
        self.stage.wrong += [*look, *early(self.stage, names)]

    def kill(self) -> None:
        """End it as kill -9 does: nothing of it is done any more."""
        self.alive, self.disk.gone = False, True
        self.stage.receivers.gone(self.name)
        self.close()

    def close(self) -> None:
        """Close the files, and drop what the kernel drops with a process."""
        self.agent.stores.leases.close()
        self.agent.stores.database.close()

    async def lead(self) -> None:
        """Do what is next until all has ended."""
        stage, chance = self.stage, self.stage.world.chance
        for _ in range(ROUNDS):
            try:
                if await self._next():
                    return
            except PlanwrightError as error:
                self._refused(error)
            except Exception as error:  # noqa: BLE001 - an error of no class of ours is a finding
                if not self.alive:
                    return  # Python collects what was killed, on no loop
                stage.world.note(f"{self.name} raised {type(error).__name__}: {error}")
                stage.wrong.append(f"an error of no class of ours: {type(error).__name__}: {error}")
            await asyncio.sleep(chance.uniform(0.01, 3))

    def _refused(self, error: PlanwrightError) -> None:
        stage = self.stage
        stage.count(type(error).__name__)
        stage.world.note(
            f"{self.name} is refused: {type(error).__name__}: {self._without_names(error.cause)}"
        )
        if "is a bug" in error.cause:
            stage.wrong.append(error.cause)

    def _without_names(self, text: str) -> str:
        """Leave out what another process would be called, and another folder."""
        return text.replace(self.owner.label, "a worker").replace(str(self.stage.workspace), "")

    async def _next(self) -> bool:
        """Take one step; say whether all has ended."""
        stage, chance = self.stage, self.stage.world.chance
        runs = stage.rows("SELECT * FROM runs ORDER BY rowid")
        if not runs:
            await self._enter({"messages": [("user", stage.request.script.request)]})
            return False
        if stage.ended():
            if len(runs) < stage.requests and not stage.calm:
                await self._enter({"messages": [("user", stage.request.script.request)]})
                return False
            return await self._decide_late()
        odd = 0 if stage.calm else chance.random()
        if odd > 0.97:
            stage.world.note(f"{self.name} cancels")
            stage.count("cancel")
            await self.agent.acancel(THREAD)
            return False
        if odd > 0.9:
            stage.world.note(f"{self.name} takes over")
            stage.count("take over")
            await self.agent.atake_over(THREAD)
        gates = stage.rows("SELECT * FROM gates WHERE status = 'open' ORDER BY rowid")
        if gates and stage.slow and not stage.calm:
            await asyncio.sleep(chance.uniform(1, chance.choice((60, 1.4 * stage.ttl_s))))
        if gates and (answer := self._answer(chance.choice(gates))) is not None:
            await self._enter(Command(resume=answer))
        elif not gates:
            await self._enter(None)
        return False

    async def _enter(self, given: Any) -> None:
        mode = self.stage.request.mode
        context = RunContext(planning_mode=mode) if isinstance(given, dict) else None
        await self.agent.ainvoke(given, config(process=self.name), context=context)

    def _answer(self, gate: Mapping[str, Any]) -> dict[str, Any] | None:
        """Answer a gate; None while nobody can know yet what to say."""
        stage, chance = self.stage, self.stage.world.chance
        shown = json.loads(gate["shown"])
        answer = {"gate_id": gate["gate_id"], "decided_by": chance.choice(PEOPLE)}
        if shown.get("in_doubt"):
            effects = self._truth(gate["run_id"], [effect["key"] for effect in shown["effects"]])
            return None if effects is None else {**answer, "type": "respond", "effects": effects}
        odd = 0 if stage.calm else chance.random()
        said = {"type": "approve"}
        if gate["kind"] == "info":
            said = {"type": "respond", "message": "as you think best"}
        elif odd > 0.92:
            said = {"type": "reject", "message": "no"}
        elif odd > 0.85 and gate["kind"] == "plan":
            said = {"type": "respond", "message": "think again"}
        stage.world.note(f"{self.name} answers {gate['kind']} {said['type']}")
        return {**answer, **said}

    def _truth(self, run_id: str, keys: Sequence[str]) -> list[dict[str, Any]] | None:
        """Say of effects in doubt whether their receivers got them, once nobody sends them any more."""
        stage = self.stage
        rows = stage.rows("SELECT * FROM effects WHERE run_id = ?", run_id)
        doubtful = [row for row in rows if row["key"] in keys]
        for worker in stage.workers:
            if worker is not self and worker.alive and any(worker.owns(row["owner"]) for row in doubtful):
                stage.world.note(f"{self.name} ends {worker.name}, which may still send")
                worker.kill()
        if not stage.receivers.quiet():
            return None
        stage.count("in doubt")
        answers = []
        for row in doubtful:
            there = stage.receivers.has(row["first_key"] or row["key"])
            name = json.loads(row["args"])["name"]
            stage.world.note(
                f"{self.name} says of {name} that it {'happened' if there else 'did not happen'}"
            )
            answers.append({"key": row["key"], "happened": there, "result": {"name": name}})
        return answers

    def owns(self, owner: str | None) -> bool:
        """Say whether a row names this worker."""
        return owner == str(self.owner)

    async def _decide_late(self) -> bool:
        """Decide over what an ended run has left in doubt; say whether nothing is left."""
        stage, doubts = self.stage, self.agent.stores.doubts
        for run in stage.rows("SELECT run_id FROM runs"):
            if open_ := await doubts.of_run(run["run_id"]):
                effects = self._truth(run["run_id"], [doubt.key for doubt in open_])
                if effects is None:
                    return False
                answers = [EffectAnswer.model_validate(effect) for effect in effects]
                await doubts.decide(run["run_id"], answers, "kim", stage.world.clock())
                stage.count("decided late")
        return True
