"""A person who leads a run to its end from what is on record, and tells the truth about effects in doubt.

What is asked next is read from the tables with plain SQLite, so whoever takes over knows as much as whoever
began. The truth about an effect is what its receiver says.
"""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langgraph.types import Command

from benchmarks.counted_shapes import SAID, SHAPES
from benchmarks.counted_stage import THREAD, Stage, config, staged
from benchmarks.counting_receiver import PATIENCE_S
from planwright.domain.errors import PlanwrightError
from planwright.domain.plan import PlanStep
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.graph.entry.single_call import SingleCall, begin

ROUNDS, REFUSED, PAUSE_S = 40, 3, 0.05
FORKED, UNDONE = "22222222-2222-4333-8444-555555555555", "33333333-2222-4333-8444-555555555555"
PEOPLE = ("kim", "sam", "ada")


@dataclass
class Outcome:
    """How far a process came: whether all has ended, what it was refused, and what it could not answer."""

    ended: bool = False
    refusals: list[str] = field(default_factory=list)
    exit_codes: list[int] = field(default_factory=list)
    mixed: int = 0
    doubts: int = 0
    problem: str = ""

    def refuse(self, error: Exception) -> None:
        """Note a refusal, or an error of no class of ours."""
        self.refusals.append(f"{type(error).__name__}: {error}")
        self.exit_codes.append(getattr(error, "exit_code", -1))


@dataclass
class Person:
    """Somebody in front of one process; stops after as many refusals as they have patience for."""

    stage: Stage
    agent: Agent
    process: str = ""
    patience: int = REFUSED
    outcome: Outcome = field(default_factory=Outcome)

    def lead(self) -> Outcome:
        """Do what is next until all has ended, or nothing goes on."""
        for _ in range(ROUNDS):
            try:
                if self.step():
                    self.outcome.ended = True
                    break
            except PlanwrightError as error:
                self.outcome.refuse(error)
                if len(self.outcome.refusals) >= self.patience:
                    break
                time.sleep(PAUSE_S)
        return self.outcome

    def step(self) -> bool:
        """Take one step; say whether all has ended."""
        stage = self.stage
        runs = stage.rows("SELECT * FROM runs ORDER BY rowid")
        first = [run for run in runs if run["thread_id"] == THREAD]
        if not first:
            self._enter({"messages": [("user", stage.shape.request)]}, THREAD)
        elif open_ := [run for run in runs if run["ended_at"] is None]:
            self._go_on(open_[0])
        elif not stage.shape.then or len(runs) > 1:
            return True
        else:
            self._follow(first[0])
        return False

    def _go_on(self, run: Mapping[str, Any]) -> None:
        query = "SELECT * FROM gates WHERE run_id = ? AND status = 'open' ORDER BY rowid"
        gates = self.stage.rows(query, run["run_id"])
        self._enter(Command(resume=self._answer(gates[0])) if gates else None, run["thread_id"])

    def _follow(self, run: Mapping[str, Any]) -> None:
        """Begin what follows a run that has ended."""
        if self.stage.shape.then == "undo":
            self.agent.undo(run["run_id"], thread_id=UNDONE)
        elif self.stage.shape.then == "fork":
            self.agent.fork(run["run_id"], rerun=["s2"], thread_id=FORKED)
        else:
            self._remember(run)

    def _remember(self, run: Mapping[str, Any]) -> None:
        (proposal,) = self.stage.rows("SELECT * FROM proposals")
        args = {"text": proposal["text"], "tags": json.loads(proposal["tags"])}
        step = PlanStep(id="remember", capability="memory.write", params=args, description="Remember it")
        stores, context = self.agent.stores, RunContext(provider="embedded")
        call = SingleCall(step, f"Remember: {SAID}", run["run_id"], "it")
        self.agent.loop.call(lambda: begin(stores, call, context))

    def _enter(self, given: Any, thread: str) -> None:
        context = RunContext(planning_mode=self.stage.shape.mode) if isinstance(given, dict) else None
        self.agent.invoke(given, config(thread, self.process), context=context)

    def _answer(self, gate: Mapping[str, Any]) -> dict[str, Any]:
        """Approve what asks; of what is in doubt, say what the receiver knows."""
        approved = json.loads(gate["approvals"] or "[]")
        answer = {"gate_id": gate["gate_id"], "decided_by": PEOPLE[len(approved)]}
        shown = json.loads(gate["shown"])
        if gate["kind"] == "info":
            return {**answer, "type": "respond", "message": "as you think best"}
        if not shown.get("in_doubt"):
            return {**answer, "type": "approve"}
        self.outcome.doubts += 1
        effects = []
        for effect in shown["effects"]:
            name = effect["args"]["name"]
            there = self.stage.receiver.count(name) > 0
            effects.append({"key": effect["key"], "happened": there, "result": {"name": name}})
        return {**answer, "type": "respond", "effects": effects}


def preload() -> None:
    """Load what a run loads on its way, by two runs, so that no forked process has to. Leaves no thread."""
    for name in ("a loop", "a sequence"):
        with TemporaryDirectory() as folder, staged(SHAPES[name], Path(folder)) as stage:
            agent = stage.open()
            Person(stage, agent).lead()
            agent.close()
    gc.collect()
    gc.freeze()  # what is shared stays shared: a collection would write to every object
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(PATIENCE_S)
    if threading.active_count() > 1:
        raise RuntimeError("a process with threads must not be forked")


def as_json(outcome: Outcome) -> str:
    """Write an outcome down for another process."""
    return json.dumps(asdict(outcome))
