"""Where the sweep over the seams plays: a workspace, an agent with a scripted model, and whoever receives."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from benchmarks.consent_cases import DEFAULT_POLICY
from benchmarks.consent_receivers import Service
from benchmarks.seams_cases import Case, Slot, slots
from benchmarks.seams_model import SeamsModel
from benchmarks.seams_person import Person, SeenCard
from benchmarks.seams_receivers import Office, listening, taking_mail
from benchmarks.seams_tools import Desk, Receipt, own_capabilities
from benchmarks.seams_ways import Scene
from benchmarks.trusted_servers import trust_servers
from planwright.capabilities.registry import Registry, load_registry
from planwright.domain.errors import GateError, PlanwrightError
from planwright.domain.run_context import RunContext
from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from planwright.graph.building import open_agent

ROOT = Path(__file__).parents[1]
FIRST = 400_000
MOST_CARDS = 8
SETTINGS = """
[channels.team]
url = "{channel}/hooks/team"
[egress]
allow = ["{place}", "{channel_place}", "127.0.0.1:9", "127.0.0.1:{smtp}"]
[mail]
host = "127.0.0.1"
port = {smtp}
security = "none"
from = "sam@northwind.example"
[tools]
top_k = 200
[planning]
replan_budget = 0
[execution]
retry_base_ms = 1
step_retries = 0
[queue]
look_s = 0.01
"""


@dataclass(frozen=True)
class Played:
    """What became of one play: the cards in order, and what was received behind how many of them."""

    cards: tuple[SeenCard, ...]
    receipts: tuple[tuple[int, Receipt], ...]
    """Each call that was received, with the number of cards that were answered before."""
    begun: int
    """Number of cards that were answered before the run that is judged, as one that is undone."""
    ended: str
    problem: str = ""
    passed: bool = False
    """Whether an approval passed that named the hash of another card."""


@dataclass
class Stage:
    """One workspace, its agent, and whoever receives; every play has a thread of its own."""

    workspace: Path
    agent: Agent
    registry: Registry
    model: SeamsModel
    desk: Desk
    service: Service
    channel: Service
    office: Office
    number: int = FIRST
    slots: dict[tuple[str, str], Slot] = field(default_factory=dict)
    _log: int = 0
    _row: int = 0

    @property
    def store(self) -> Path:
        """The database that the product keeps its records in."""
        return self.workspace / ".planwright" / "planwright.db"

    def scene(self, case: Case) -> Scene:
        """Make a fresh value for a case, and write it where others do."""
        self.number += 1
        token, slot = f"v{self.number}x", self.slots[case.capability, case.argument]
        value = slot.value(token, self.service.origin)
        source = f"others/{token}.md"
        (self.workspace / source).write_text(str(value), "utf-8")
        if slot.is_path:
            (self.workspace / str(value)).write_text(f"as it was {token}", "utf-8")
        return Scene(case, slot, value, self.service.origin, source)

    def play(self, scene: Scene, person: Person) -> Played:
        """Play a case to its end, with somebody at its gates."""
        case = scene.case
        self.model.play(scene.script)
        self.desk.answer = str(scene.value)
        if case.kind == "file":
            path = self.workspace / str(scene.value)
            person.meanwhile = lambda: _swap(path)
        run = _Run(self, person, str(uuid.uuid4()))
        self.received()
        first = Person(meanwhile=lambda: None) if case.way == "undo" else person
        try:
            run.begin(scene, first)
            if case.way == "undo":
                run.undo(person)
        except PlanwrightError as error:
            run.problem = f"{type(error).__name__}: {error}"[:200]
            run.collect()
        cards = tuple(first.seen if first is person else [*first.seen, *person.seen])
        begun = 0 if first is person else len(first.seen)
        return Played(cards, tuple(run.receipts), begun, run.ended, run.problem, run.passed)

    def received(self) -> list[Receipt]:
        """Take what was received since the last look, by every receiver and by the ledger."""
        taken = [*self.desk.received, *self.office.received]
        self.desk.received.clear()
        self.office.received.clear()
        for service, name in ((self.service, "http.request"), (self.channel, "channel.post")):
            taken += [Receipt(name, {}, text=f"{one.to}\n{one.text}") for one in service.heard]
            service.heard.clear()
        return [*taken, *self._of_server(), *self._of_ledger()]

    def _of_server(self) -> Iterator[Receipt]:
        log = self.workspace.parent / f"{self.workspace.name}.calls"
        lines = log.read_text("utf-8").splitlines() if log.exists() else []
        for line in lines[self._log :]:
            name, args, files = json.loads(line)
            yield Receipt(f"seams.{name}", args, files)
        self._log = len(lines)

    def _of_ledger(self) -> Iterator[Receipt]:
        query = "SELECT rowid, capability, args FROM effects WHERE rowid > ? ORDER BY rowid"
        if not self.store.exists():  # nothing was asked yet
            return
        with closing(sqlite3.connect(self.store)) as database:
            for row, name, args in database.execute(query, (self._row,)).fetchall():
                self._row = row
                yield Receipt(name, json.loads(args))

    def card_hashes(self, gate_id: str) -> tuple[Any, ...]:
        """Read what is on record of a gate: its card, and the hash of that."""
        with closing(sqlite3.connect(self.store)) as database:
            query = "SELECT shown, card_hash FROM gates WHERE gate_id = ?"
            return tuple(database.execute(query, (gate_id,)).fetchone())


def _swap(path: Path) -> None:
    path.write_text(f"changed while the card was open: {path.name}", "utf-8")


class _Run:
    """One thread, from its request to its end."""

    def __init__(self, stage: Stage, person: Person, thread: str) -> None:
        self._stage, self._seen = stage, person.seen
        self._before = 0
        self.config: RunnableConfig = {"configurable": {"thread_id": thread}}
        self.receipts: list[tuple[int, Receipt]] = []
        self.ended, self.problem, self.passed = "", "", False

    def begin(self, scene: Scene, person: Person) -> None:
        """Ask, and let the person answer until nothing is open."""
        agent, context = self._stage.agent, RunContext(planning_mode=scene.mode)  # type: ignore[arg-type]
        if scene.case.way == "background":
            thread = self.config["configurable"]["thread_id"]
            agent.enqueue(scene.request, thread_id=thread, context=context)
            self._work()
            self._answered(person, background=True)
            return
        message = {"messages": [{"role": "user", "content": scene.request}]}
        self.ended = _status(agent.invoke(message, self.config, context=context))
        self._answered(person)

    def undo(self, person: Person) -> None:
        """Have the run undone."""
        self._before = len(self._seen)
        thread = self.config["configurable"]["thread_id"]
        self.config = self._stage.agent.undo(thread)
        self.ended = _status(self._stage.agent.invoke(None, self.config))
        self._answered(person)

    def _work(self) -> None:
        asyncio.run(Worker(self._stage.agent).run(until_idle=True))

    def _answered(self, person: Person, *, background: bool = False) -> None:
        self._seen = person.seen
        self.collect()
        for _ in range(MOST_CARDS):
            found = [one for one in self._stage.agent.get_state(self.config).interrupts if one.value]
            if not found:
                break
            answers = {one.id: person.answer(one.value) for one in found}
            if person.mistaken is not None and self._passes(person.mistaken):
                self.passed = True
                break
            self.ended = _status(self._stage.agent.invoke(Command(resume=answers), self.config))
            if background:
                self._work()
            self.collect()

    def _passes(self, answer: dict[str, Any]) -> bool:
        """Say whether an approval that names the hash of another card is taken."""
        with suppress(GateError):
            self._stage.agent.invoke(Command(resume=answer), self.config)
            return True
        return False

    def collect(self) -> None:
        """Note what was received, behind the cards answered so far."""
        answered = self._before + len(self._seen)
        self.receipts += [(answered, receipt) for receipt in self._stage.received()]


def _status(out: Any) -> str:
    return "waiting" if "__interrupt__" in out else str(out.get("status"))


@contextmanager
def opened(folder: Path, *, server: bool, policy: str = "", more: str = "") -> Iterator[Stage]:
    """Open a stage with all built-in and own capabilities, or one with the tools of a server beside them.

    `policy` are rules before the shipped ones, so that something happens that the judge has to find; `more`
    are settings beside its own.
    """
    workspace = folder / f"stage-{uuid.uuid4().hex[:8]}"
    for part in ("others", "held", "kept", "made", *(f"mail/{part}" for part in ("cur", "new", "tmp"))):
        (workspace / part).mkdir(parents=True)
    (workspace / "kept" / "same.md").write_text("the same", "utf-8")
    with closing(sqlite3.connect(workspace / "crm.db")) as database, database:
        database.execute("CREATE TABLE customers (name TEXT, city TEXT)")
    with ExitStack() as stack:
        desk, office, model = Desk(), Office(), SeamsModel()
        services = [stack.enter_context(listening(kind)) for kind in ("http", "post")]
        services[0].pages["/page"] = "Prices of 2027.\n"
        stack.enter_context(taking_mail(office))
        settings = {
            "channel": services[1].origin,
            "channel_place": services[1].origin.removeprefix("http://"),
            "place": services[0].origin.removeprefix("http://"),
            "smtp": office.port,
        }
        (workspace / "planwright.toml").write_text(SETTINGS.format(**settings) + more, "utf-8")
        if policy:
            (workspace / "policy.toml").write_text(policy + DEFAULT_POLICY.read_text("utf-8"), "utf-8")
        if server:
            _plug(workspace)
        own = own_capabilities(desk)
        agent = open_agent(workspace, model=model, capabilities=own, trusted=True)
        stack.callback(agent.close)
        registry = load_registry(workspace, more=[*own, *agent.servers.capabilities])
        stage = Stage(workspace, agent, registry, model, desk, services[0], services[1], office)
        stage.slots = {(slot.capability, slot.argument): slot for slot in slots(registry)}
        yield stage


def _plug(workspace: Path) -> None:
    log = workspace.parent / f"{workspace.name}.calls"
    args = ["-m", "benchmarks.seams_server", str(log), str(workspace)]
    entry = {"command": sys.executable, "args": args, "env": {"PYTHONPATH": str(ROOT)}}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"seams": entry}}), "utf-8")
    trust_servers(workspace)
