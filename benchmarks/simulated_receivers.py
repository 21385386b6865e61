"""Receivers that count what happens by its business id, and the capabilities that send to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from pydantic import BaseModel

from benchmarks.simulated_time import Late, SimulatedLoop, World
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable

Fate = Literal["answer", "slow", "refuse", "unavailable", "silent", "broken", "under way", "late"]
ODD: tuple[Fate, ...] = ("slow", "refuse", "unavailable", "silent", "broken", "under way", "late")
PATIENCE_S, LONG_S = 5.0, 30.0  # what a call may take, and what is more than it
PLAIN: dict[str, Any] = {
    "trusted_result": True,
    "mode": "local_write",
    "risk": "Medium",
    "timeout_s": PATIENCE_S,
}


class Receipt(BaseModel):
    """What a receiver answers."""

    name: str


@dataclass(frozen=True)
class Arrival:
    """Something that took place: its business id, the key it came under, and which worker sent it."""

    name: str
    key: str
    kind: str
    sender: str
    gated: bool


@dataclass
class Receivers:
    """All receivers of a simulation; `oddity` is how often one does not simply answer."""

    world: World
    gated: Callable[[str], bool]
    oddity: float = 0.3
    happened: list[Arrival] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)

    def count(self, name: str) -> int:
        """Count how often something took place."""
        return sum(one.name == name for one in self.happened)

    def has(self, key: str) -> bool:
        """Say whether anything took place under a key."""
        return any(one.key == key for one in self.happened)

    def quiet(self) -> bool:
        """Say that nothing is under way."""
        return not self.under_way

    def knows(self, key: str) -> bool:
        """Say whether anything arrived under a key. Raises CapabilityUnavailable while that is under way."""
        if key in self.under_way:
            raise CapabilityUnavailable("it is being worked on")
        return self.has(key)

    def fate(self, name: str) -> Fate:
        """Choose what becomes of a call."""
        chance = self.world.chance
        fate = chance.choice(ODD) if chance.random() < self.oddity else "answer"
        self.world.note(f"arrives {name}: {fate}")
        return fate

    def _honours(self, kind: str, call: CallContext) -> bool:
        """Say whether a call comes again under a key that is honoured: what was done is never refused."""
        key = call.idempotency_key
        return kind == "idempotent" and (
            self.has(key) or any(each.startswith(key) for each in self.under_way)
        )

    def do(self, kind: str, name: str, call: CallContext, sender: str) -> None:
        """Let something take place; a known key changes nothing where keys are honoured."""
        key = call.idempotency_key
        if key in self.under_way:
            self.under_way.remove(key)
        if kind == "idempotent" and self.has(key):
            return
        self.world.note(f"happens {name} from {sender}")
        self.happened.append(Arrival(name, key, kind, sender, self.gated(name)))

    def begin(self, kind: str, name: str, call: CallContext, sender: str) -> None:
        """Let something take place in a while, whoever waits for it."""
        if call.idempotency_key not in self.under_way:
            self.under_way.append(call.idempotency_key)
            self.world.later(self.world.chance.uniform(1, LONG_S), lambda: self.do(kind, name, call, sender))

    async def take(self, kind: str, name: str, call: CallContext, sender: str) -> Receipt:
        """Take a call, and answer, or not."""
        fate, chance = self.fate(name), self.world.chance
        if fate == "refuse" and not self._honours(kind, call):
            raise CapabilityRejected("the receiver refuses it")
        if fate == "unavailable":
            raise CapabilityUnavailable("the receiver has no time")
        if fate == "under way":
            self.begin(kind, name, call, sender)
            await asyncio.sleep(LONG_S)
        if fate in ("slow", "late"):
            await asyncio.sleep(chance.uniform(0.1, PATIENCE_S / 2) if fate == "slow" else LONG_S)
        if fate != "under way":
            self.do(kind, name, call, sender)
        if fate == "silent":
            await asyncio.sleep(LONG_S)
        if fate == "broken":
            raise _broken(kind)
        return Receipt(name=name)

    def take_blocking(self, kind: str, name: str, call: CallContext, sender: str) -> Receipt:
        """Take a call of a function that blocks, and answer, or not."""
        fate, chance = self.fate(name), self.world.chance

        def rest() -> dict[str, str]:  # it ends outside of its thread, where a result is spelled as JSON
            self.under_way.remove(call.idempotency_key + sender)
            self.do(kind, name, call, sender)
            return {"name": name}

        if fate == "refuse" and not self._honours(kind, call):
            raise CapabilityRejected("the receiver refuses it")
        if fate == "unavailable":
            raise CapabilityUnavailable("the receiver has no time")
        if fate in ("slow", "late", "under way"):
            self.under_way.append(call.idempotency_key + sender)
            raise Late(chance.uniform(0.1, PATIENCE_S / 2) if fate == "slow" else LONG_S, rest)
        self.do(kind, name, call, sender)
        if fate == "silent":
            raise Late(LONG_S, lambda: {"name": name})
        if fate == "broken":
            raise ConnectionResetError("the connection broke off")
        return Receipt(name=name)

    def gone(self, sender: str) -> None:
        """Forget what a worker that is gone was still sending from a function that blocked."""
        self.under_way = [key for key in self.under_way if not key.endswith(sender)]


def _broken(kind: str) -> Exception:
    """Say that the connection broke off, as a capability has to: the same key is safe, or nobody knows."""
    if kind == "idempotent":
        return CapabilityUnavailable("the connection broke off")
    return ConnectionResetError("the connection broke off")


def _sender() -> str:
    """Name the worker whose loop takes this step."""
    return cast(SimulatedLoop, asyncio.get_running_loop()).name


def sending(receivers: Receivers) -> list[Capability]:
    """Declare what all workers can do: one for each class of effect, one grave, one that blocks."""

    async def looked_up(name: str, call: CallContext) -> Receipt | None:
        return Receipt(name=name) if receivers.knows(call.idempotency_key) else None

    @capability("sim.book", effect="idempotent", **PLAIN)
    async def book(name: str, call: CallContext) -> Receipt:
        """Book an entry with a receiver that honours the idempotency key."""
        return await receivers.take("idempotent", name, call, _sender())

    @capability("sim.transfer", effect="queryable", lookup=looked_up, **PLAIN)
    async def transfer(name: str, call: CallContext) -> Receipt:
        """Transfer to a receiver that does all that arrives, and can be asked what did."""
        return await receivers.take("queryable", name, call, _sender())

    @capability("sim.post", effect="queryable", lookup=looked_up, **PLAIN)
    def post(name: str, call: CallContext) -> Receipt:
        """Post to a receiver that can be asked, by a function that blocks."""
        return receivers.take_blocking("queryable", name, call, _sender())

    @capability("sim.stamp", effect="blind", **PLAIN)
    async def stamp(name: str, call: CallContext) -> Receipt:
        """Stamp a document at a receiver that knows no keys."""
        return await receivers.take("blind", name, call, _sender())

    @capability("sim.pay", trusted_result=True, mode="destructive", effect="idempotent", timeout_s=PATIENCE_S)
    async def pay(name: str, call: CallContext) -> Receipt:
        """Pay by a receiver that honours the idempotency key; a person decides over every call."""
        return await receivers.take("idempotent", name, call, _sender())

    return [book, transfer, post, stamp, pay]
