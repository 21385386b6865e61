"""The processes of the owner trials: one that is stopped and tells how it ended, one that takes over."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.counted_person import Outcome, Person
from benchmarks.counted_stage import THREAD, Stage, config, fork, join, rows_of
from planwright.domain.errors import PlanwrightError, StoreFailed
from planwright.graph.agent import Agent
from planwright.store.database import Boundary

PATIENT = 25
TOKEN = "SELECT max(lease_token) AS token, max(lease_until) AS until FROM runs WHERE thread_id = ?"


@dataclass
class First:
    """A process that works, may be stopped, says how its work ended, and then lives on until it is killed."""

    stage: Stage
    pid: int
    link: socket.socket
    report: dict[str, Any] | None = None
    sending: frozenset[str] = frozenset()
    """Keys of the effects that were under way when it was stopped."""

    @classmethod
    def start(cls, stage: Stage, at: int = 0, only: str = "") -> First:
        """Begin the run; at its n-th boundary with this text in its name the process stops itself."""
        ours, theirs = socket.socketpair()

        def work() -> None:
            ours.close()
            seen, decisions = [0], list[int]()

            def trap(name: str) -> None:
                if name.endswith(" decision"):
                    decisions.append(written(os.getpid()))
                seen[0] += only in name
                if only in name and seen[0] == at:
                    os.kill(os.getpid(), signal.SIGSTOP)

            outcome = Outcome()
            try:
                Person(stage, stage.open(trap), "first", 1, outcome).lead()
            except StoreFailed as error:  # the store is opened while the other process stands still in it
                outcome.refuse(error)
            report = {**asdict(outcome), "written": written(os.getpid()), "decisions": decisions}
            theirs.sendall(json.dumps(report).encode() + b"\n")
            theirs.recv(1)

        pid = fork(work)
        theirs.close()
        return cls(stage, pid, ours)

    def stop(self, seconds: float) -> bool:
        """Stop it after some seconds, or wait until it stops itself (0); False when its work ended before."""
        begun = time.monotonic()
        while not self.ended(0.002):
            if seconds and time.monotonic() - begun > seconds:
                os.kill(self.pid, signal.SIGSTOP)
            if os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG)[0]:
                query = "SELECT key FROM effects WHERE status = 'intent' AND owner LIKE ?"
                self.sending = frozenset(row["key"] for row in self.stage.rows(query, f"%:{self.pid}:%"))
                return True
        return False

    def wake(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def ended(self, seconds: float) -> bool:
        """Wait for its report; say whether it has come."""
        if self.report is None and select.select([self.link], [], [], seconds)[0]:
            with self.link.makefile("rb") as stream:
                line = stream.readline()
            self.report = json.loads(line) if line else {"problem": "it died", "refusals": [], "written": 0}
        return self.report is not None

    def decided_since(self, before: int) -> int:
        """Count the bytes of decisions that it wrote after so many others: a person's word counts."""
        marks = (self.report or {}).get("decisions", [])
        return sum(
            end - start for start, end in zip(marks[::2], marks[1::2], strict=False) if start >= before
        )

    def kill(self) -> None:
        """End it, and wait until nothing of what it sent is still on its way."""
        os.kill(self.pid, signal.SIGKILL)
        join(self.pid)
        self.link.close()
        self.stage.receiver.happened("quiet")


@dataclass(frozen=True)
class Taken:
    """How far the process came that took over; whether it got the run, and whether without asking for it.

    `took` is None where there is nothing to ask with.
    """

    outcome: Outcome
    robbed: bool
    took: bool | None = None


def take_over(stage: Stage, place: Path, trap: Boundary | None = None, asks_first: bool = False) -> int:
    """Fork a process that takes the run over and leads it as far as it can; return its pid."""

    def work() -> None:
        outcome, took = Outcome(), None
        try:
            agent = stage.open(trap)
        except StoreFailed as error:
            outcome.refuse(error)
            place.write_text(json.dumps({"outcome": asdict(outcome), "robbed": False, "took": False}))
            return
        robbed = asks_first and not _has_ended(stage) and _goes_on(agent, 1.5 * stage.lease_s)
        if (ask := getattr(agent, "atake_over", None)) is not None:
            try:
                took = bool(agent.loop.call(lambda: ask(THREAD)))
            except PlanwrightError as error:
                took = False
                outcome.refuse(error)
        patience = 3 + len(outcome.refusals) if ask else PATIENT
        Person(stage, agent, "second", patience, outcome).lead()
        place.write_text(json.dumps({"outcome": asdict(outcome), "robbed": robbed, "took": took}))
        agent.close()

    return fork(work)


def taken(place: Path) -> Taken:
    """Read what the process that took over has written."""
    if not place.exists():
        return Taken(Outcome(problem="it died"), robbed=False)
    report = json.loads(place.read_text())
    return Taken(Outcome(**report["outcome"]), report["robbed"], report["took"])


def finish(stage: Stage) -> Outcome:
    """Lead a run to its end in a new process, with nobody else there."""
    place = stage.workspace.parent / "last.json"
    join(take_over(stage, place))
    return taken(place).outcome


def token(stage: Stage) -> tuple[int, bool]:
    """Read the fencing token of the run, and whether somebody holds it."""
    (row,) = stage.rows(TOKEN, THREAD) or [{}]
    return row.get("token") or 0, bool(row.get("until"))


def written(pid: int) -> int:
    """Count the bytes a process has written to files, whatever they are; what goes to sockets does not count.

    Source: proc_pid_io(5), `wchar`.
    """
    return int(Path(f"/proc/{pid}/io").read_text().split("wchar:")[1].split()[0])


def contents(stage: Stage) -> set[tuple[Any, ...]]:
    """Read every row of the store."""
    path = stage.store / "planwright.db"
    tables = rows_of(path, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%fts%'")
    return {
        (table["name"], *row.values())
        for table in tables
        for row in rows_of(path, f'SELECT rowid AS "#", * FROM "{table["name"]}"')
    }


def checkpointed_late(stage: Stage) -> int:
    """Count the checkpoints that the first process wrote after the second had written one."""
    rows = rows_of(
        stage.store / "planwright.db",
        "SELECT json_extract(metadata, '$.process') AS process FROM checkpoints ORDER BY rowid",
    )
    who = [row["process"] for row in rows]
    return who[who.index("second") :].count("first") if "second" in who else 0


def _has_ended(stage: Stage) -> bool:
    """Say whether the newest run is over: then there is nothing to take, and to ask for it does no harm."""
    rows = stage.rows("SELECT ended_at FROM runs ORDER BY rowid DESC LIMIT 1")
    return bool(rows and rows[0]["ended_at"])


def _goes_on(agent: Agent, seconds: float) -> bool:
    """Try to go on with the run in the plain way, after a while; say whether that was let happen."""
    time.sleep(seconds)
    try:
        agent.invoke(None, config(process="second"))
    except PlanwrightError:
        return False
    return True
