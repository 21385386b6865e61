"""What a process of a soak does: workers ask, go on, follow up; a person answers, cancels and takes over.

Everything next is read from the tables, and any process may be killed or stopped at any moment. What a
process did and what it was refused is appended to a file, a line each.
"""

from __future__ import annotations

import json
import os
import random
import time
import traceback
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from langgraph.types import Command

from benchmarks.counted_stage import Stage, config
from benchmarks.soak_requests import asked
from planwright.domain.clock import utc_now
from planwright.domain.errors import PlanwrightError
from planwright.domain.plan import PlanStep
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent
from planwright.graph.entry.single_call import SingleCall, begin

Role = Literal["worker", "person", "last"]
PEOPLE = ("kim", "sam", "ada")
MOST_OPEN, NUMBERS, PAUSE_S, LONGEST = 8, 1000, 0.2, 3000
OPEN = "SELECT * FROM runs WHERE ended_at IS NULL ORDER BY rowid"
GATES = "SELECT * FROM gates WHERE status = 'open' ORDER BY rowid"
UNASKED = f"{OPEN.partition(' ORDER')[0]} AND run_id NOT IN (SELECT run_id FROM gates WHERE status = 'open')"
DOUBTFUL = (
    "SELECT DISTINCT e.run_id FROM effects e JOIN runs r USING (run_id)"
    " WHERE e.status IN ('in_doubt', 'intent') AND r.ended_at IS NOT NULL"
)
TRUTH = "SELECT key, coalesce(first_key, key) AS sent, json_extract(args, '$.name') AS name FROM effects"


@dataclass
class Hand:
    """Whoever acts in one process; `number` is that of the process, its requests are numbered after it."""

    stage: Stage
    agent: Agent
    seed: int
    number: int
    role: Role
    chance: random.Random = field(init=False)
    asked: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(f"{self.seed}: hand {self.number}")

    def work(self) -> None:
        """Do one thing after another until it is over, or for the last one, until all has ended."""
        while not (self._all_ended() if self.role == "last" else over(self.stage).exists()):
            try:
                self._once()
            except PlanwrightError as error:
                note(self.stage, type(error).__name__, refused=str(error))
            except Exception as error:  # noqa: BLE001 - an error of no class of ours is a finding
                shown = "".join(traceback.format_exception(error, limit=-4))
                note(self.stage, type(error).__name__, wrong=shown)
            time.sleep(self.chance.uniform(0, PAUSE_S))
        if self.role == "last":
            self._close()

    def _close(self) -> None:
        """Enter the threads of runs whose process died at their end, as the next message would."""
        for run in self.stage.rows("SELECT thread_id FROM runs WHERE lease_until > 0"):
            self._enter(None, run["thread_id"])

    def _all_ended(self) -> bool:
        return not self.stage.rows(OPEN) and not self.stage.rows(DOUBTFUL)

    def _once(self) -> None:
        chance = self.chance.random()
        if self.role == "last":
            (self._answer if self.stage.rows(GATES) else self._go_on)()
            self._decide_late()
        elif self.role == "person":
            ways = [(0.06, self._cancel), (0.1, self._take_over), (0.2, self._decide_late)]
            self._chosen(chance, ways, self._answer)
        else:
            ways = [(0.3, self._ask), (0.4, self._follow), (0.43, self._take_over)]
            self._chosen(chance, ways, self._go_on)

    def _chosen(
        self, chance: float, ways: list[tuple[float, Callable[[], None]]], else_: Callable[[], None]
    ) -> None:
        next((way for below, way in ways if chance < below), else_)()

    def _ask(self) -> None:
        """Ask for something new, on a thread of its own or after something that has ended."""
        if len(self.stage.rows(OPEN)) >= MOST_OPEN:
            return self._go_on()
        one = asked(self.seed, self.number * NUMBERS + self.asked)
        self.asked += 1
        ended = self.stage.rows("SELECT thread_id FROM runs WHERE ended_at IS NOT NULL")
        thread = str(uuid.UUID(int=self.chance.getrandbits(128), version=4))
        if ended and self.chance.random() < 0.2:
            thread = self.chance.choice(ended)["thread_id"]
        note(self.stage, "ask")
        self._enter({"messages": [("user", one.text)]}, thread, RunContext(planning_mode=one.request.mode))
        return None

    def _go_on(self) -> None:
        if runs := self.stage.rows(UNASKED):
            note(self.stage, "go on")
            self._enter(None, self.chance.choice(runs)["thread_id"])

    def _enter(self, given: Any, thread: str, context: RunContext | None = None) -> None:
        self.agent.invoke(given, config(thread, f"{self.role} {self.number}"), context=context)

    def _cancel(self) -> None:
        if runs := self.stage.rows(OPEN):
            note(self.stage, "cancel")
            self.agent.cancel(self.chance.choice(runs)["thread_id"])

    def _take_over(self) -> None:
        if runs := self.stage.rows(f"{UNASKED} AND lease_until > 0"):
            note(self.stage, "take over")
            thread = self.chance.choice(runs)["thread_id"]
            self.agent.take_over(thread)
            self._enter(None, thread)

    def _follow(self) -> None:
        """Undo a run that has ended, fork it, or decide over what it would remember."""
        runs = self.stage.rows(
            "SELECT * FROM runs r WHERE ended_at IS NOT NULL AND EXISTS (SELECT 1 FROM effects e"
            " WHERE e.run_id = r.run_id AND e.status = 'done')"
        )
        proposals = self.stage.rows("SELECT * FROM proposals WHERE status = 'proposed'")
        way = self.chance.choice(("undo", "fork", "remember"))
        if way == "remember" and proposals:
            self._remember(self.chance.choice(proposals))
        elif way != "remember" and runs:
            run = self.chance.choice(runs)["run_id"]
            steps = self.stage.rows("SELECT step_id FROM steps WHERE run_id = ? AND step_id LIKE 's_'", run)
            again = [self.chance.choice(steps)["step_id"]] if steps else []
            note(self.stage, way)
            self.agent.undo(run) if way == "undo" else self.agent.fork(run, rerun=again)

    def _remember(self, proposal: Mapping[str, Any]) -> None:
        stores, now = self.agent.stores, utc_now
        if self.chance.random() < 0.3:
            note(self.stage, "reject a memory")
            one = proposal["id"], proposal["tenant"], "kim", now()
            self.agent.loop.call(lambda: stores.proposals.reject(*one))
            return
        note(self.stage, "accept a memory")
        args = {"text": proposal["text"], "tags": json.loads(proposal["tags"])}
        step = PlanStep(id="remember", capability="memory.write", params=args, description="Remember it")
        request, context = f"Remember: {proposal['text']}", RunContext(provider="embedded")
        call = SingleCall(step, request, proposal["run_id"], proposal["id"])
        self.agent.loop.call(lambda: begin(stores, call, context))

    def _answer(self) -> None:
        gates = self.stage.rows(GATES)
        if not gates:
            return self._go_on() if self.role == "last" else None
        gate = self.chance.choice(gates)
        approved = [one["by"] for one in json.loads(gate["approvals"] or "[]")]
        answer = {"gate_id": gate["gate_id"], "decided_by": next(p for p in PEOPLE if p not in approved)}
        said = self._said(gate, json.loads(gate["shown"]))
        note(self.stage, f"{said['type']} {gate['kind']}")
        self._enter(Command(resume={**answer, **said}), gate["thread_id"])
        return None

    def _said(self, gate: Mapping[str, Any], shown: Mapping[str, Any]) -> dict[str, Any]:
        """Approve, mostly; of what is in doubt, say what the receiver knows."""
        odd = self.chance.random() if self.role == "person" else 0
        if gate["kind"] == "info":
            return {"type": "respond", "message": "as you think best"}
        if shown.get("in_doubt"):
            keys = [effect["key"] for effect in shown["effects"]]
            return {"type": "respond", "effects": self._truth(gate["run_id"], keys)}
        if odd > 0.95 and gate["kind"] == "plan":
            return {"type": "respond", "message": "think again"}
        return {"type": "reject", "message": "no"} if odd > 0.87 else {"type": "approve"}

    def _truth(self, run_id: str, keys: list[str] | None = None) -> list[dict[str, Any]]:
        """Say of effects in doubt whether the receiver got them; what was sent before has arrived by then."""
        happened = {one.key for one in self.stage.receiver.happened("earlier")}
        rows = self.stage.rows(f"{TRUTH} WHERE run_id = ? AND status IN ('in_doubt', 'intent')", run_id)
        return [
            {"key": row["key"], "happened": row["sent"] in happened, "result": {"name": row["name"]}}
            for row in rows
            if keys is None or row["key"] in keys
        ]

    def _decide_late(self) -> None:
        """Decide over what an ended run has left in doubt."""
        if runs := self.stage.rows(DOUBTFUL):
            run = self.chance.choice(runs)["run_id"]
            note(self.stage, "decide late")
            self.agent.decide_effects(run, self._truth(run))


def over(stage: Stage) -> Path:
    """Name the file that ends all processes."""
    return stage.workspace.parent / "over"


def note(stage: Stage, what: str, **more: str) -> None:
    """Append a line about what is done; what is too long for one write is cut."""
    cut = {name: text[-LONGEST:] for name, text in more.items()}
    line = json.dumps({"what": what, "pid": os.getpid(), **cut})
    with (stage.workspace.parent / "noted.jsonl").open("ab", buffering=0) as file:
        file.write(line.encode() + b"\n")


def noted(stage: Stage) -> list[dict[str, str]]:
    """Read what all processes have noted."""
    lines = (stage.workspace.parent / "noted.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]
