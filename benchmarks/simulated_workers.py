"""Processes of a simulation that keep schedules and go on with sessions, and the people who queue them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from benchmarks.simulated_ends import Ends
from benchmarks.simulated_machines import Machine, WrongClock
from benchmarks.simulated_store import Disk, SimulatedDatabase, SimulatedHeartbeat
from benchmarks.simulated_time import SimulatedLoop, World
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.clock import Timer
from planwright.domain.errors import PlanwrightError
from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.consent.gate import Decision
from planwright.records.effects.late_calls import LateCalls
from planwright.records.ownership.leases import Leases
from planwright.records.queue.sessions import Sessions
from planwright.records.queue.workers import Workers
from planwright.records.stores import Stores, open_stores
from planwright.settings.settings import Settings, load
from planwright.store.owners import Owners, folder_of

LOOK_S = 120.0
LONG_S = 1800.0  # more than the longest piece of work takes
SCHEDULES = {"often": ("*/30 * * * *", 1800.0), "rarely": ("30 */6 * * *", 6 * 3600.0)}
SCHEDULES |= {"daily": ("0 13 * * *", 86_400.0)}


class Desk(ScriptedModel):
    """A model that calls what a request asks for, once."""

    def _reply(self, messages: list[BaseMessage]) -> str | dict[str, Any]:
        if messages[-1].type == "tool":
            return "done"
        asked = next((message.text for message in messages if message.type == "human"), "")
        name = next((name for name in ("wipe", "work") if name in asked), "")
        call = {"name": f"desk__{name}", "args": {}, "id": "c1"}
        return {"content": "", "tool_calls": [call]} if name else "done"


def desk(world: World) -> list[Capability]:
    """Declare one thing that takes long, and one that a person is asked about."""

    @capability("desk.work", trusted_result=True, effect="pure", timeout_s=2 * LONG_S)
    async def work() -> str:
        """Work on something for a while."""
        await asyncio.sleep(world.chance.uniform(60, LONG_S))
        return "worked"

    @capability("desk.wipe", trusted_result=True, mode="destructive", effect="idempotent")
    async def wipe() -> str:
        """Wipe something."""
        return "wiped"

    return [work, wipe]


@dataclass
class Office:
    """What all processes of a simulation share. `on_server` says that hosts share the clock of a server."""

    world: World
    workspace: Path
    on_server: bool
    clock: WrongClock
    machines: list[Machine]
    processes: list[Process] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @cached_property
    def ends(self) -> Ends:
        """What watches over ends and schedules."""
        periods = {name: period for name, (_, period) in SCHEDULES.items()}
        return Ends(self.world, self.clock, self.workspace / ".planwright" / "planwright.db", periods)

    @cached_property
    def settings(self) -> Settings:
        """The settings of every process."""
        schedules = {
            name: {"cron": cron, "request": "read", "planning": "never"}
            for name, (cron, _) in SCHEDULES.items()
        }
        return load(
            self.workspace,
            planning={"mode": "never"},
            queue={"look_s": LOOK_S, "max_concurrent": 8, "max_execution_time_s": 10 * LONG_S},
            sessions={"lease_s": 60},
            budgets={"run": {"wall_clock_s": 1e6}},
            schedules=schedules,
        )

    @cached_property
    def capabilities(self) -> list[Capability]:
        """What every process can do."""
        return desk(self.world)

    @property
    def at_work(self) -> list[Process]:
        """The processes that live, and are not stopped."""
        return [process for process in self.processes if process.alive and not process.paused]

    def count(self, what: str) -> None:
        """Count something that was done."""
        self.counts[what] = self.counts.get(what, 0) + 1


class Process:
    """A worker on one machine."""

    def __init__(self, office: Office, machine: Machine) -> None:
        self.office, self.machine = office, machine
        self.loop = SimulatedLoop(office.world, f"process {len(office.processes) + 1}")  # type: ignore[abstract] # what nothing here asks for
        self.disk = Disk()
        self.alive, self.paused = True, False
        self.agent = self._open()
        self.worker = Worker(self.agent)
        self.work = self.loop.create_task(self.worker.run())
        office.processes.append(self)

    def _open(self) -> Agent:
        office = self.office
        timer = Timer(self.machine.ticks(), self.machine.boot)
        kind = partial(SimulatedDatabase, loop=self.loop, disk=self.disk, committed=self._committed)
        stores = open_stores(office.settings.store_folder, clock=office.clock, timer=timer, kind=kind)
        return build_graph(
            office.settings,
            model=Desk(replies=["done"]),
            capabilities=office.capabilities,
            stores=self._simulated(stores),
            timer=timer,
        )

    def _simulated(self, stores: Stores) -> Stores:
        owners = Owners(folder_of(stores.database.path))
        seconds = stores.time.counted_s if self.office.on_server else stores.time.timer.seconds
        leases = Leases(stores.database, owners, seconds, SimulatedHeartbeat(self.loop))
        return replace(
            stores,
            leases=leases,
            sessions=Sessions(stores.database, leases, stores.time),
            workers=Workers(stores.database, owners),
            late_calls=LateCalls(stores.database, leases.disown),
        )

    def _committed(self, store: str, names: frozenset[str], changed: int) -> None:
        if changed:
            self.office.ends.look(names)

    def kill(self) -> None:
        """End it as kill -9 does."""
        self.alive, self.disk.gone = False, True
        self.close()

    def close(self) -> None:
        """Close the file, and drop what the kernel drops with a process."""
        self.agent.stores.leases.close()
        self.agent.stores.database.close()

    def queue(self, request: str, ttl_s: float) -> None:
        """Let somebody queue a session here, which a person may put aside, and answer the gate of."""
        self.loop.create_task(self._queue(request, ttl_s))

    async def _queue(self, request: str, ttl_s: float) -> None:
        office = self.office
        try:
            config = await self.agent.aenqueue(request, ttl_s=ttl_s)
            thread = config["configurable"]["thread_id"]
            office.ends.queued(thread, ttl_s)
            if "aside" in request:
                await self.agent.apause(thread, "ann")
        except PlanwrightError as error:
            office.world.note(f"not queued: {error.cause}")
            office.count(type(error).__name__)

    def answer(self) -> None:
        """Let a person answer the oldest gate that waits, from here."""
        self.loop.create_task(self._answer())

    async def _answer(self) -> None:
        office, gates = self.office, self.agent.stores.gates
        try:
            waiting = [gate for gate in await gates.waiting() if gate.status == "open"]
            if waiting:
                decision = Decision(answer="reject", decided_by="ann", channel="test", reason="no")
                await gates.decide(waiting[0].gate_id, decision, self.agent.door.clock())
                office.count("answered")
        except PlanwrightError as error:
            office.world.note(f"not answered: {error.cause[:60]}")
            office.count("put off" if "as long as its clock says" in error.cause else type(error).__name__)
