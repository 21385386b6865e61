"""One trial of the crash benchmark: a run that dies at a boundary, its recovery, and the verdict.

A child process runs a plan of six effects and kills itself just before or just after a commit of
either store. A second child does what a user would do. Then the receivers are asked what happened.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from benchmarks.receiver import SCENARIOS, Fault, Scenario, Tally, receiving
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.graph.building import build_graph
from planwright.models.providers.pricing import price
from planwright.models.scripted import ScriptedModel
from planwright.records.stores import open_stores
from planwright.settings.settings import load
from planwright.state.agent_state import ModelRoute
from planwright.store.database import Boundary

ROUNDS, CHILD_S = 8, 60
CONFIG: RunnableConfig = {"configurable": {"thread_id": "11111111-2222-4333-8444-555555555555"}}
REQUEST = {"messages": [("user", "Carry out the six effects")]}
OTHER_REQUEST = {"messages": [("user", "Hello")]}
UNPLANNED = RunContext(planning_mode="never")


@dataclass(frozen=True)
class Point:
    """Where a run dies: at its n-th boundary whose name holds `only`, or nowhere."""

    scenario: Scenario
    at: int | None
    only: str = ""
    fault: Fault = "none"


@dataclass
class Outcome:
    """What the recovering process saw: the end of the run, and of what was asked of it afterwards."""

    status: str = ""
    approvals: int = 0
    steps: dict[str, str] = field(default_factory=dict)
    endings: int = 0
    read_again: str = ""
    next_run: str = ""
    messages: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True)
class Trial:
    """One killed and recovered run, judged."""

    scenario: str
    at: int
    boundary: str
    boundaries: int
    killed: bool
    lost: int = 0
    duplicated: int = 0
    sent_again: int = 0
    in_doubt: int = 0
    in_doubt_repeated: int = 0
    wrong: tuple[str, ...] = ()


class Trap:
    """Count boundaries, log their names, and kill the process at one of them."""

    def __init__(self, log: Path, point: Point) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._point = point
        self._lock, self._seen = threading.Lock(), 0

    def __call__(self, name: str) -> None:
        """Stand at a boundary."""
        with self._lock:
            os.write(self._log, f"{name}\n".encode())
            self._seen += self._point.only in name
            if self._point.only in name and self._seen == self._point.at:
                os.kill(os.getpid(), signal.SIGKILL)


def preload() -> None:
    """Load what a run loads on its way, so that no forked process has to. Starts no thread."""
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), Point(SCENARIOS[0], None))
    price(ModelRoute(provider="scripted", model="scripted"), 1, 1)


def try_point(point: Point, workspace: Path) -> Trial:
    """Run, kill, recover and judge, in a folder made for it. Call it where no thread runs."""
    workspace.mkdir()
    log, report = workspace.with_suffix(".log"), workspace.with_suffix(".json")
    if point.scenario.earlier:
        in_child(lambda: talk(workspace, point))
    first = in_child(lambda: live(workspace, point, log))
    boundaries = log.read_text().splitlines() if log.exists() else []
    second = in_child(lambda: report.write_text(json.dumps(asdict(recover(workspace, point)))))
    outcome = Outcome(**json.loads(report.read_text())) if second == 0 else Outcome()
    if second != 0:
        outcome.problem = f"the recovering process ended with {second}"
    elif first not in (0, -signal.SIGKILL):
        outcome.problem = f"the first process ended with {first}"
    approved = sum(name.count("decision") for name in boundaries if " after " in name)
    trial = Trial(
        scenario=point.scenario.name,
        at=point.at or 0,
        boundary=boundaries[-1] if boundaries else "",
        boundaries=sum(point.only in name for name in boundaries),
        killed=first == -signal.SIGKILL,
    )
    tallies = {effect.id: effect.tally(workspace) for effect in point.scenario.effects}
    return judge(trial, point.scenario, approved, outcome, tallies)


def in_child(work: Callable[[], object]) -> int:
    """Do something in a forked process and return its exit code, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(CHILD_S)
        try:
            work()
        except BaseException:  # noqa: BLE001 - the child ends here, whatever happened
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def build(workspace: Path, point: Point, boundary: Boundary | None = None) -> Agent:
    """Build the agent. Its model answers everything with the plan: the words do not matter here."""
    plan = {"goal": "Six effects", "steps": [effect.step() for effect in point.scenario.effects]}
    limits = {"run": {"tool_calls": point.scenario.tool_calls}}
    settings = load(workspace, planning={"mode": "always"}, budgets=limits, approval={"depth": "plan"})
    return build_graph(
        settings,
        model=ScriptedModel(replies=[json.dumps(plan)]),
        capabilities=receiving(point.fault),
        stores=open_stores(settings.store_folder, boundary=boundary),
    )


def talk(workspace: Path, point: Point) -> None:
    """Begin the thread with a request of its own, whose process may die as soon as its run has ended."""

    def die_at_the_end(name: str) -> None:
        if point.scenario.earlier == "died" and " after " in name and name.endswith("end"):
            os.kill(os.getpid(), signal.SIGKILL)

    agent = build(workspace, point, die_at_the_end)
    agent.invoke(OTHER_REQUEST, CONFIG, context=UNPLANNED)
    agent.close()


def live(workspace: Path, point: Point, log: Path) -> None:
    """Run the plan from the request to its end, approving what asks; die at the point."""
    trap = Trap(log, point)
    agent = build(workspace, point, trap)
    out = agent.invoke(REQUEST, CONFIG)
    for _ in range(ROUNDS):
        asking = [found.value["gate_id"] for found in out.get("__interrupt__", ()) if found.value]
        if not asking:
            break
        out = _answer(agent, asking[0])
    agent.close()


def recover(workspace: Path, point: Point) -> Outcome:
    """Do what a user would until the run has ended; then read it again, and ask for something else."""
    outcome = Outcome()
    agent = build(workspace, point)
    try:
        run_id = _to_the_end(agent, point.scenario, outcome)
        _read_records(agent, run_id, outcome)
        outcome.read_again = str(agent.invoke(None, CONFIG).get("status"))
        later = agent.invoke(OTHER_REQUEST, CONFIG, context=UNPLANNED)
        outcome.next_run = str(later.get("status"))
        spoken = [message for message in later["messages"] if message.type != "tool" and message.text]
        outcome.messages = [message.type for message in spoken]
    except Exception:  # noqa: BLE001 - whatever a recovery raises is a finding
        outcome.problem = traceback.format_exc(limit=-3)
    agent.close()
    return outcome


def judge(
    trial: Trial, scenario: Scenario, approved: int, outcome: Outcome, tallies: dict[str, Tally]
) -> Trial:
    """Count what was lost, doubled and left in doubt, and say what is wrong with the end.

    `approved` decisions were durable when the process died; none of them may be asked for again.
    """
    doubtful = {step for step, how in outcome.steps.items() if how == "in_doubt"}
    completed = {step for step, how in outcome.steps.items() if how == "completed"}
    if outcome.status == "completed":
        completed |= set(tallies)
    return replace(
        trial,
        lost=sum(tallies[step].happened < 1 for step in completed),
        duplicated=sum(tally.happened > 1 for tally in tallies.values()),
        sent_again=sum(tally.arrived > 1 for tally in tallies.values()),
        in_doubt=int(bool(doubtful)),
        in_doubt_repeated=sum(tallies[step].arrived > 1 for step in doubtful),
        wrong=tuple(_wrong(scenario, approved, outcome, doubtful)),
    )


def _wrong(scenario: Scenario, approved: int, outcome: Outcome, doubtful: set[str]) -> Iterator[str]:
    if outcome.problem:
        yield outcome.problem
        return
    expected = "escalated" if doubtful else "completed"
    blind = {effect.id for effect in scenario.effects if effect.capability == "bench.stamp"}
    if doubtful - blind:
        yield f"in doubt, though the receiver knows: {', '.join(sorted(doubtful - blind))}"
    if outcome.status != expected:
        yield f"the run ended as {outcome.status or 'nothing'}, not {expected}"
    if outcome.read_again != outcome.status:
        yield f"read again, the run says {outcome.read_again}, its record {outcome.status}"
    if outcome.approvals + approved != scenario.decisions:
        asked = f"{approved} decisions were durable, {outcome.approvals} more were asked for"
        yield f"{asked}, {scenario.decisions} were due"
    if outcome.endings != 1:
        yield f"the journal tells {outcome.endings} ends of the run"
    if outcome.next_run != "completed":
        yield f"the next request on the thread ended as {outcome.next_run}"
    if outcome.messages != ["human", "ai"] * (3 if scenario.earlier else 2):
        yield f"the conversation is {', '.join(outcome.messages)}"


def _to_the_end(agent: Agent, scenario: Scenario, outcome: Outcome) -> str:
    for _ in range(ROUNDS):
        runs, gates = agent.stores.database.call("read", _runs_and_gates)
        run = next(iter(runs[1 if scenario.earlier else 0 :]), None)
        if run is None:
            agent.invoke(REQUEST, CONFIG)
        elif run["ended_at"]:
            outcome.status = run["status"]
            return str(run["run_id"])
        elif gates:
            gate_id, kind = gates[0]
            asks = kind != "escalation"  # a blind effect in doubt is left there, never run again
            outcome.approvals += asks
            _answer(agent, gate_id, "approve" if asks else "reject")
        else:
            agent.invoke(None, CONFIG)
    raise TimeoutError(f"the run has not ended after {ROUNDS} rounds")


def _runs_and_gates(store: sqlite3.Connection) -> tuple[list[sqlite3.Row], list[tuple[str, str]]]:
    runs = store.execute("SELECT * FROM runs ORDER BY rowid").fetchall()
    gates = store.execute("SELECT gate_id, kind FROM gates WHERE status = 'open'").fetchall()
    return runs, [(row[0], row[1]) for row in gates]


def _read_records(agent: Agent, run_id: str, outcome: Outcome) -> None:
    steps = "SELECT step_id, status, json_extract(result, '$.code') FROM steps WHERE run_id = ?"
    ends = "SELECT count(*) FROM journal WHERE run_id = ? AND type = 'run_end'"
    with closing(sqlite3.connect(agent.stores.database.path)) as store:
        outcome.steps = {row[0]: row[2] or row[1] for row in store.execute(steps, (run_id,))}
        outcome.endings = store.execute(ends, (run_id,)).fetchone()[0]


def _answer(agent: Agent, gate_id: str, answer: str = "approve") -> dict[str, Any]:
    found: dict[str, Any] = agent.invoke(Command(resume={"type": answer, "gate_id": gate_id}), CONFIG)
    return found
