"""One trial of the benchmark of doubts: blind effects killed between send and answer, and a person who looks.

A receiver is a file that knows no keys. Processes die inside their calls, before or after a line is there,
or at a commit of a recovery. Whoever is asked reads the file and says of each effect whether it happened.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command
from pydantic import BaseModel, PrivateAttr

from benchmarks.crash_trial import in_child
from benchmarks.receiver import append
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.scripted import ScriptedModel
from planwright.records.stores import open_stores
from planwright.settings.settings import load

Shape = Literal["plan", "planned chain", "chain", "loop", "step", "sub-agent"]
Death = Literal["before", "after"]
Person = Literal["truthful", "sure", "hasty"]
SHAPES: tuple[Shape, ...] = ("plan", "planned chain", "chain", "loop", "step", "sub-agent")
PEOPLE: tuple[Person, ...] = ("truthful", "sure", "hasty")
PLANNED: tuple[Shape, ...] = ("plan", "planned chain", "step")
CONFIG: RunnableConfig = {"configurable": {"thread_id": "11111111-2222-4333-8444-666666666666"}}
REQUEST = {"messages": [("user", "Stamp everything")]}
NOT_THERE = ("did not happen", "not made")
TASK, CHAIN = "Stamp each of them", "stamp_all"
PROCESSES, ROUNDS = 12, 20


@dataclass(frozen=True)
class Job:
    """What is tried: the effects, how the process dies in each, and where a recovery dies, if it does."""

    shape: Shape
    deaths: tuple[Death | None, ...]
    recovery_dies_at: int | None = None
    person: Person = "truthful"

    @property
    def names(self) -> list[str]:
        """The effects: each is a line at the receiver."""
        return [f"line{number}" for number in range(len(self.deaths))]

    @property
    def together(self) -> int:
        """How many calls are under way when the process dies: steps of a plan, else one after another."""
        return sum(death is not None for death in self.deaths) if self.shape == "plan" else 1


@dataclass
class Trial:
    """What came of a job: lines at the receiver beside those that should be there, and how the run ended."""

    shape: str
    killed: int = 0
    asked: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: list[str] = field(default_factory=list)


class Stamped(BaseModel):
    """What a stamp answers."""

    name: str


class Stamper(ScriptedModel):
    """A model whose reply follows from its conversation: it calls until it has heard of every line."""

    _job: Job = PrivateAttr()

    def _reply(self, messages: list[BaseMessage]) -> str | dict[str, Any]:
        role = messages[0].text.partition("\n")[0]
        if role == "Role: planner":
            return json.dumps(plan_of(self._job))
        if role != "Role: agent":
            return '{"memories": []}' if role == "Role: consolidate" else "Stamped."
        turns = sum(isinstance(message, AIMessage) for message in messages)
        below = any("Another agent gave you" in message.text for message in messages)
        if self._job.shape == "chain":
            row = [("tool__create_chain", chain_of(self._job)), (CHAIN, {})]
            return calling(row[turns : turns + 1], turns)
        if self._job.shape == "sub-agent" and not below:
            delegated = {"task": TASK, "tools": ["bench.stamp"]}
            return calling([("agent__delegate", delegated)][turns:], turns)
        return calling([("bench__stamp", {"name": name}) for name in missing(self._job, messages)], turns)


def missing(job: Job, messages: list[BaseMessage]) -> list[str]:
    """Name what was never called, or was not made or did not happen when it was called last."""
    called: dict[str, str] = {}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            called[str(call["id"])] = str(call["args"]["name"])
    there: dict[str, bool] = {}
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id in called:
            there[called[message.tool_call_id]] = not any(no in message.text for no in NOT_THERE)
    return [name for name in job.names if not there.get(name)]


def calling(calls: list[tuple[str, dict[str, Any]]], turn: int) -> str | dict[str, Any]:
    """Write a reply that calls tools, or the last one."""
    listed = [{"name": name, "args": args, "id": f"c{turn}_{n}"} for n, (name, args) in enumerate(calls)]
    return {"content": "", "tool_calls": listed} if listed else "Stamped."


def chain_of(job: Job) -> dict[str, Any]:
    """Define the chain that stamps one line after the other."""
    steps = [{"toolName": "bench.stamp", "arguments": {"name": name}} for name in job.names]
    return {"name": CHAIN, "description": "Stamp in a row", "steps": steps}


def plan_of(job: Job) -> dict[str, Any]:
    """Write the plan of a planned shape."""
    steps: list[dict[str, Any]] = [
        {"id": name, "capability": "bench.stamp", "params": {"name": name}} for name in job.names
    ]
    if job.shape == "step":
        steps = [{"id": "s1", "description": TASK, "tool_hints": ["bench.stamp"]}]
    if job.shape == "planned chain":
        made = {"id": "s1", "capability": "tool.create_chain", "params": chain_of(job)}
        steps = [made, {"id": "s2", "capability": CHAIN, "params": {}, "depends_on": ["s1"]}]
    return {"goal": "Stamp everything", "steps": steps}


def stamping(job: Job) -> Capability:
    """Declare the blind effect; the first call of a line may end the process, with all that are under way."""
    meeting = threading.Barrier(max(job.together, 1))

    @capability("bench.stamp", trusted_result=True, mode="local_write", effect="blind", tags=("stamp",))
    def stamp(name: str, call: CallContext) -> Stamped:
        """Stamp a line into a file that knows no keys."""
        workspace = call.settings.workspace
        order = workspace / f"die-{name}"
        death = order.read_text() if order.exists() else ""
        if death != "before":
            append(workspace / "stamps.txt", name)
        if death:
            order.unlink()
            meeting.wait(20)
            os.kill(os.getpid(), signal.SIGKILL)
        return Stamped(name=name)

    return stamp


def try_job(job: Job, workspace: Path) -> Trial:
    """Run, die, recover and ask until the run has ended, each time in a process of its own; then judge."""
    workspace.mkdir()
    for name, death in zip(job.names, job.deaths, strict=True):
        if death:
            (workspace / f"die-{name}").write_text(death)
    trial = Trial(job.shape)
    for process in range(PROCESSES):
        dies_at = job.recovery_dies_at if process == 1 else None
        code = in_child(lambda dies_at=dies_at: play(job, workspace, dies_at))  # type: ignore[misc]
        trial.killed += code == -signal.SIGKILL
        if code == 0:
            break
        if code != -signal.SIGKILL:
            trial.wrong.append(f"process {process} ended with {code}")
            break
    judge(job, workspace, trial)
    return trial


def play(job: Job, workspace: Path, dies_at: int | None) -> None:
    """Do what a user would until the run has ended."""
    seen = 0

    def boundary(name: str) -> None:
        nonlocal seen
        seen += 1
        if seen == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    model = Stamper(replies=["-"])
    model._job = job
    mode = "always" if job.shape in PLANNED else "never"
    settings = load(workspace, planning={"mode": mode}, tools={"top_k": 60})
    stores = open_stores(settings.store_folder, boundary=boundary)
    agent = build_graph(settings, model=model, capabilities=[stamping(job)], stores=stores)
    for _ in range(ROUNDS):
        run, gates = agent.stores.database.call("read", _run_and_gates)
        if run is not None and run["ended_at"]:
            agent.close()
            return
        if run is None:
            agent.invoke(REQUEST, CONFIG)
        elif gates:
            answer(agent, job, workspace, gates[0])
        else:
            agent.invoke(None, CONFIG)
    raise TimeoutError(f"the run has not ended after {ROUNDS} rounds")


def answer(agent: Agent, job: Job, workspace: Path, gate: sqlite3.Row) -> None:
    """Answer a gate; of effects in doubt by what the receiver really got, or as a careless person would."""
    decision: dict[str, Any] = {"type": "approve", "gate_id": gate["gate_id"]}
    if gate["kind"] == "escalation":
        there = stamps(workspace)
        effects = []
        for effect in json.loads(gate["shown"])["effects"]:
            truly = effect["args"]["name"] in there
            happened = {"truthful": truly, "sure": True, "hasty": False}[job.person]
            effects.append({"key": effect["key"][:12], "happened": happened, "result": {"name": "seen"}})
        decision |= {"type": "respond", "effects": effects}
    agent.invoke(Command(resume=decision), CONFIG)


def judge(job: Job, workspace: Path, trial: Trial) -> None:
    """Compare the receiver and the ledger with what should have happened: each line once, nothing open."""
    there = stamps(workspace)
    trial.lost = sum(there.count(name) < 1 for name in job.names)
    trial.doubled = sum(there.count(name) > 1 for name in job.names)
    path = workspace / ".planwright" / "planwright.db"
    with closing(sqlite3.connect(path)) as store:
        (status,) = store.execute("SELECT status FROM runs").fetchone()
        effects = "SELECT status, count(*) FROM effects WHERE capability = 'bench.stamp' GROUP BY 1"
        ended = dict(store.execute(effects).fetchall())
        cards = store.execute("SELECT effects FROM gates WHERE effects IS NOT NULL").fetchall()
    trial.asked = sum(len(json.loads(card)) for (card,) in cards)
    if status != "completed":
        trial.wrong.append(f"the run ended as {status}")
    if still := ended.get("in_doubt", 0) + ended.get("intent", 0):
        trial.wrong.append(f"{still} effects are in doubt at the end")
    if ended.get("done", 0) != len(job.names):
        trial.wrong.append(f"the ledger has {ended.get('done', 0)} effects for {len(job.names)}")


def stamps(workspace: Path) -> list[str]:
    """Read what the receiver got."""
    path = workspace / "stamps.txt"
    return path.read_text().splitlines() if path.exists() else []


def _run_and_gates(store: sqlite3.Connection) -> tuple[sqlite3.Row | None, list[sqlite3.Row]]:
    run = store.execute("SELECT * FROM runs ORDER BY rowid").fetchone()
    return run, store.execute("SELECT * FROM gates WHERE status = 'open'").fetchall()
