"""Several processes go on with one run at the same moment: one of them works, the others are refused.

A group of runs waits for the approval of its plan, or lost its process in the middle; the same processes race
for one run after the other.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from langgraph.types import Command

from benchmarks.consent_cases import plan_steps
from benchmarks.consent_model import Script
from benchmarks.counted_shapes import Shape, call
from benchmarks.counted_stage import Stage, config, fork, join, staged
from planwright.domain.errors import PlanwrightError
from planwright.domain.run_context import RunContext
from planwright.graph.agent import Agent

Kind = Literal["waiting", "interrupted"]
GROUP = 5  # a blocking call takes a thread of its process, and there are few
NAMES = ("first", "held", "last")


class Numbered(Script):
    """A model that puts the number of the request into what it says."""

    def reply(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Write the message that a conversation gets."""
        number = re.findall(r"number (\d+)", json.dumps(messages))[0]
        said: dict[str, Any] = json.loads(json.dumps(super().reply(messages, tools)).replace("#", number))
        return said


CALLS = [call("book", "first #"), call("transfer", "held #"), call("book", "last #")]
SHAPE = Shape(
    "a race", Numbered("Carry out number", (), plan={"goal": "#", "steps": plan_steps(CALLS)}), "always", {}
)


@dataclass
class Race:
    """One race, judged: how many worked, were refused, or found the run ended."""

    kind: str
    racers: int
    worked: int = 0
    refused: int = 0
    read: int = 0
    doubled: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def works(races: int, racers: int) -> Iterator[partial[list[dict[str, Any]]]]:
    """Make groups of races until there are enough; their kinds take turns."""
    kinds: tuple[Kind, ...] = ("waiting", "interrupted")
    return (partial(group, kinds[n % 2], racers) for n in range(-(-races // GROUP)))


def group(kind: Kind, racers: int, folder: Path) -> list[dict[str, Any]]:
    """Prepare a group of runs and race for each."""
    held = frozenset(f"held {n}" for n in range(GROUP)) if kind == "interrupted" else frozenset()
    with staged(SHAPE, folder, held=held) as stage:
        _prepare(stage, kind)
        field_ = [Racer.start(stage, kind) for _ in range(racers)]
        try:
            for racer in field_:
                racer.hear()
            return [asdict(_race(stage, kind, field_, number)) for number in range(GROUP)]
        finally:
            for racer in field_:
                os.kill(racer.pid, signal.SIGKILL)
                join(racer.pid)


@dataclass
class Racer:
    """A process with an agent of its own that does as it is told, and says what came of it."""

    pid: int
    link: socket.socket

    @classmethod
    def start(cls, stage: Stage, kind: Kind) -> Racer:
        """Fork it; it says a word when it is ready."""
        ours, theirs = socket.socketpair()

        def work() -> None:
            agent = stage.open()
            agent.get_state(config(_thread(0)))
            theirs.sendall(b"{}\n")
            for line in theirs.makefile("r"):
                theirs.sendall(json.dumps(_go_on(agent, json.loads(line))).encode() + b"\n")

        pid = fork(work, 240)
        theirs.close()
        return cls(pid, ours)

    def tell(self, order: Mapping[str, Any]) -> None:
        """Send it after a run."""
        self.link.sendall(json.dumps(order).encode() + b"\n")

    def hear(self) -> dict[str, str]:
        """Wait for what it says."""
        content = b""
        while not content.endswith(b"\n"):
            part = self.link.recv(65536)
            if not part:
                return {"error": "it died", "next": ""}
            content += part
        said: dict[str, str] = json.loads(content)
        return said


def _go_on(agent: Agent, order: Mapping[str, str]) -> dict[str, str]:
    gate = order["gate"]
    given: Any = Command(resume={"type": "approve", "gate_id": gate}) if gate else None
    try:
        out = agent.invoke(given, config(order["thread"]))
    except PlanwrightError as error:
        return {"error": f"{type(error).__name__}: {error.cause}", "next": error.next_step}
    return {"status": str(out.get("status"))}


def _thread(number: int) -> str:
    return f"44444444-2222-4333-8444-{number:012d}"


def _prepare(stage: Stage, kind: Kind) -> None:
    """Bring the runs of a group to their gates, or to their second effect and then to nothing."""

    def begin() -> None:
        agent = stage.open()
        for number in range(GROUP):
            request = {"messages": [("user", f"Carry out number {number}")]}
            agent.invoke(request, config(_thread(number)), context=RunContext(planning_mode="always"))
        if kind == "interrupted":
            for number in range(GROUP):
                order = {"gate": _gate(stage, number), "thread": _thread(number)}
                threading.Thread(target=_go_on, args=(agent, order), daemon=True).start()
            threading.Event().wait()
        agent.close()

    pid = fork(begin)
    if kind == "interrupted":
        while sum(name.startswith("held") for name in stage.receiver.arrivals()) < GROUP:
            pass
        os.kill(pid, signal.SIGKILL)
    join(pid)
    stage.receiver.happened("release")
    stage.receiver.happened("quiet")


def _gate(stage: Stage, number: int) -> str:
    query = "SELECT gate_id FROM gates WHERE thread_id = ? AND status = 'open'"
    found = stage.rows(query, _thread(number))
    return str(found[0]["gate_id"]) if found else ""


def _race(stage: Stage, kind: Kind, racers: Sequence[Racer], number: int) -> Race:
    race = Race(kind, len(racers))
    before = len(stage.receiver.happened())
    order = {"gate": _gate(stage, number), "thread": _thread(number)}
    for racer in racers:
        racer.tell(order)
    heard = [racer.hear() for racer in racers]
    happened = stage.receiver.happened()
    race.worked = len({one.sender for one in happened[before:]})
    errors = [one for one in heard if "error" in one]
    race.refusals = sorted({one["error"] for one in errors})
    race.refused, race.read = len(errors), len(heard) - len(errors) - race.worked
    race.wrong = [f"not a clear refusal: {one}" for one in errors if not one["next"]]
    if race.worked != 1:
        race.wrong.append(f"{race.worked} processes worked")
    (run,) = stage.rows("SELECT status, lease_token FROM runs WHERE thread_id = ?", _thread(number))
    if run["status"] != "completed":
        race.wrong.append(f"the run is {run['status']}")
    for name in (f"{name} {number}" for name in NAMES):
        times = sum(one.name == name for one in happened)
        race.doubled += [name] if times > 1 else []
        race.lost += [name] if times < 1 else []
    return race
