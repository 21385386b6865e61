"""What the crash benchmark sends, and receivers that remember every arrival of it.

A lost or a doubled effect shows at the receiver, whatever the sender believes. Three capabilities
send to a receiver that honours their idempotency key, one to a receiver that only keeps it and can be
asked, one to a file that knows no keys. A receiver with a fault doubles, forgets, refuses or denies
what arrived: with it the harness has to fail.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, JsonValue

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected
from planwright.records.records import open_records
from planwright.settings.settings import load

Fault = Literal["none", "doubles", "forgets", "refuses", "denies"]
FAULTS: tuple[Fault, ...] = ("none", "doubles", "forgets", "refuses", "denies")

_ARGUMENT = {"files.write": "path", "tickets.create": "title", "memory.write": "text"}
_TABLES = (
    "CREATE TABLE IF NOT EXISTS arrivals (key TEXT NOT NULL, name TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS applied (key TEXT UNIQUE, name TEXT NOT NULL)",
)


class Receipt(BaseModel):
    """What a receiver answers."""

    name: str
    accepted: bool = True


@dataclass(frozen=True)
class Tally:
    """How often one effect arrived at its receiver, and how often it took place there."""

    arrived: int
    happened: int


@dataclass(frozen=True)
class Effect:
    """One step of a plan and what it leaves behind: its name is looked for at the receiver."""

    id: str
    capability: str
    name: str
    after: tuple[str, ...] = ()
    text: str = ""

    def step(self) -> dict[str, JsonValue]:
        """Write the step as a planner would."""
        params: dict[str, JsonValue] = {_ARGUMENT.get(self.capability, "name"): self.name}
        if self.capability == "files.write":
            params["text"] = self.text or self.name
        return {
            "id": self.id,
            "capability": self.capability,
            "params": params,
            "depends_on": list(self.after),
        }

    def tally(self, workspace: Path) -> Tally:
        """Count the effect where it took place."""
        receiver = workspace / "receiver.db"
        if self.capability == "files.write":
            path = workspace / self.name
            return Tally(*[int(path.exists() and path.read_text() == self.name)] * 2)
        if self.capability == "tickets.create":
            return Tally(*[_rows(workspace / "tickets.db", "tickets", "title", self.name)] * 2)
        if self.capability == "memory.write":
            return Tally(*[_memories(workspace, self.name)] * 2)
        if self.capability == "bench.stamp":
            stamps = _stamps(workspace)
            lines = stamps.read_text().splitlines() if stamps.exists() else []
            return Tally(*[lines.count(self.name)] * 2)
        arrived = _rows(receiver, "arrivals", "name", self.name)
        if self.capability == "bench.transfer":
            return Tally(arrived, arrived)
        return Tally(arrived, _rows(receiver, "applied", "name", self.name))


def _memories(workspace: Path, text: str) -> int:
    """Count the memories of a text, in whatever the store is kept."""
    settings = load(workspace)
    query = "SELECT count(*) FROM memories WHERE text = ?"
    with closing(open_records(settings.store_folder, url=settings.store_url)) as records:
        return int(records.database.call("read", lambda c: c.execute(query, (text,)).fetchone()[0]))


@dataclass(frozen=True)
class Scenario:
    """A plan of two chains of three effects, and how many decisions of a person it takes.

    `last` are the capabilities at the end of each chain.
    `earlier` says whether the thread had a run before, and whether its process died at its end.
    `in_a_row` makes one chain of both: the n-th commit of a kind is the same in every run.
    """

    name: str
    middle: tuple[Effect, Effect]
    decisions: int = 1
    earlier: Literal["", "ended", "died"] = ""
    tool_calls: int = 100
    last: tuple[str, str] = ("bench.book", "bench.notify")
    in_a_row: bool = False

    @property
    def effects(self) -> tuple[Effect, ...]:
        """All six effects; the middle of each chain is the scenario's own."""
        (first, second), (third, fourth) = self.middle, self.last
        effects = (
            Effect("ticket", "tickets.create", "report.txt"),
            first,
            Effect("booked", third, "booking", (first.id,)),
            Effect("fact", "memory.write", "the office closes at six"),
            second,
            Effect("notified", fourth, "notice", (second.id,)),
        )
        if not self.in_a_row:
            return effects
        before = ((), *((effect.id,) for effect in effects))
        return tuple(replace(effect, after=after) for effect, after in zip(effects, before, strict=False))


_REPORT = Effect("report", "files.write", "report.txt", ("ticket",), "{{steps.ticket.output.title}}")
_NOTE = Effect("note", "files.write", "note.txt", ("fact",))
SCENARIOS = (
    Scenario("idempotent", (_REPORT, _NOTE)),
    Scenario("queryable", (_REPORT, _NOTE), last=("bench.transfer", "bench.transfer")),
    Scenario("blind", (Effect("stamp", "bench.stamp", "stamp", ("ticket",)), _NOTE)),
    Scenario("gated step", (Effect("payment", "bench.pay", "payment", ("ticket",)), _NOTE), decisions=2),
    Scenario("second run", (_REPORT, _NOTE), earlier="ended"),
    Scenario("second crash", (_REPORT, _NOTE), earlier="died"),
    Scenario("exact budget", (_REPORT, _NOTE), tool_calls=6),
)


def receiving(fault: Fault = "none") -> list[Capability]:
    """Declare the capabilities of the benchmark, with receivers that have a defect or none."""

    @capability("bench.book", trusted_result=True, mode="local_write", risk="Medium", effect="idempotent")
    def book(name: str, call: CallContext) -> Receipt:
        """Book an entry with a receiver that honours the idempotency key."""
        return receive(call.settings.workspace, name, call.idempotency_key, fault)

    @capability("bench.notify", trusted_result=True, mode="local_write", risk="Medium", effect="idempotent")
    async def notify(name: str, call: CallContext) -> Receipt:
        """Notify a receiver that honours the idempotency key."""
        return receive(call.settings.workspace, name, call.idempotency_key, fault)

    def transferred(name: str, call: CallContext) -> Receipt | None:
        known = fault != "denies" and arrived(call.settings.workspace, call.idempotency_key)
        return Receipt(name=name) if known else None

    @capability(
        "bench.transfer",
        trusted_result=True,
        mode="local_write",
        risk="Medium",
        effect="queryable",
        lookup=transferred,
    )
    def transfer(name: str, call: CallContext) -> Receipt:
        """Transfer to a receiver that does all that arrives, and can be asked what did."""
        with _receiver(call.settings.workspace) as database:
            key = call.idempotency_key
            database.execute("INSERT INTO arrivals (key, name) VALUES (?,?)", (key, name))
        return Receipt(name=name)

    @capability("bench.stamp", trusted_result=True, mode="local_write", risk="Medium", effect="blind")
    def stamp(name: str, call: CallContext) -> Receipt:
        """Append a line to a file that knows no keys."""
        append(_stamps(call.settings.workspace), name)
        return Receipt(name=name)

    @capability("bench.pay", trusted_result=True, mode="destructive", effect="idempotent")
    def pay(name: str, call: CallContext) -> Receipt:
        """Pay by a receiver that honours the idempotency key; a person decides over every call."""
        return receive(call.settings.workspace, name, call.idempotency_key, fault)

    return [book, notify, transfer, stamp, pay]


def receive(workspace: Path, name: str, key: str, fault: Fault) -> Receipt:
    """Log an arrival durably, then apply it once for its key."""
    if fault == "refuses":
        raise CapabilityRejected("the receiver is broken")
    with _receiver(workspace) as database:
        database.execute("INSERT INTO arrivals (key, name) VALUES (?,?)", (key, name))
        if fault == "forgets":
            return Receipt(name=name)
        applied = None if fault == "doubles" else key
        database.execute("INSERT OR IGNORE INTO applied (key, name) VALUES (?,?)", (applied, name))
    return Receipt(name=name)


def arrived(workspace: Path, key: str) -> bool:
    """Say whether anything has arrived under a key."""
    return _rows(workspace / "receiver.db", "arrivals", "key", key) > 0


def append(path: Path, line: str) -> None:
    """Append a line to a file, durably."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{line}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rows(path: Path, table: str, column: str, value: str) -> int:
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            return 0
        query = f"SELECT count(*) FROM {table} WHERE {column} = ?"
        return int(database.execute(query, (value,)).fetchone()[0])


def _stamps(workspace: Path) -> Path:
    return workspace / "stamps.txt"


@contextmanager
def _receiver(workspace: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(workspace / "receiver.db", isolation_level=None, timeout=10)) as database:
        for statement in _TABLES:
            database.execute(statement)
        yield database
