"""A small world that calls change and read, and what comes of a reply whose calls are made one by one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected

THINGS, WORDS = ("ink", "oak", "tin"), ("red", "old", "wet", "raw")
READS = ("show", "path")
EFFECTS = ("enter", "leave", "put", "put", "put", "extend", "swap", "remove")
GATED = "wipe"
TURNS = 30  # of the event loop between the two halves of an effect
APART_S = 20  # how long a read waits for those that it stands beside

Values = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One call of a reply; `tag` is no other's, and `no` says that a person rejects it."""

    name: str
    tag: int
    args: Mapping[str, str]
    no: bool = False

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.name in READS

    @property
    def spelled(self) -> dict[str, Any]:
        """Spell it as a model does."""
        return {
            "name": f"world__{self.name}",
            "args": {**self.args, "tag": self.tag},
            "id": f"call_{self.tag}",
        }


def random_reply(random: Random, first_tag: int, most: int = 8) -> list[Call]:
    """Write a reply of 2 to `most` calls; one in eight only reads."""
    only_reads = random.random() < 1 / 8
    return [_call(random, first_tag + n, only_reads) for n in range(random.randint(2, most))]


def _call(random: Random, tag: int, only_reads: bool) -> Call:
    names = READS if only_reads else (*READS * 2, *EFFECTS, GATED)
    name, thing, other, word = random.choice(names), *random.sample(THINGS, 2), random.choice(WORDS)
    args = {
        "show": {"thing": thing},
        "enter": {"place": word},
        "put": {"thing": thing, "word": word},
        "extend": {"thing": thing, "word": word},
        "swap": {"thing": thing, "other": other},
        "remove": {"thing": thing},
        "wipe": {"thing": thing},
    }
    return Call(name, tag, args.get(name, {}), no=name == GATED and random.random() < 0.3)


def empty() -> Values:
    """Make a world in which nothing has happened."""
    return {"things": dict.fromkeys(THINGS, "new"), "path": [], "made": [], "keys": {}}


def changed(world: Values, name: str, args: Mapping[str, str]) -> str:
    """Carry a call out, and say what it brings. Raises CapabilityRejected for one that cannot be."""
    things, path = world["things"], world["path"]
    thing, word = args.get("thing", ""), args.get("word", "")
    if name in ("remove", "extend") and thing not in things:
        raise CapabilityRejected(f"there is no {thing}")
    if name == "enter":
        path.append(args["place"])
    elif name == "leave":
        del path[-1:]
    elif name == "put":
        things[thing] = "/".join([*path, word])
    elif name == "extend":
        things[thing] = f"{things[thing]} {word}"[-200:]
    elif name == "swap":
        first, second = things.pop(thing, None), things.pop(args["other"], None)
        things |= {k: v for k, v in ((thing, second), (args["other"], first)) if v is not None}
    elif name in ("remove", "wipe"):
        things.pop(thing, None)
    elif name == "show":
        return f"{thing}: {things.get(thing)}"
    return f"{name} at /{'/'.join(path)}"


def one_by_one(world: Values, reply: Sequence[Call]) -> dict[int, str]:
    """Make the calls of a reply one after another; no effect behind one that was rejected, or has failed."""
    told: dict[int, str] = {}
    held = False
    for call in reply:
        if not call.reads and held:
            told[call.tag] = "not made"
            continue
        try:
            if call.no:
                raise CapabilityRejected("not made")
            told[call.tag] = changed(world, call.name, call.args)
            world["made"] += [] if call.reads else [call.tag]
        except CapabilityRejected as error:
            told[call.tag] = error.cause
            held = held or not call.reads
    return told


@dataclass
class Stage:
    """A world in a file, with tools that note which calls overlap, and perhaps the call in which all dies."""

    file: Path
    running: dict[int, bool] = field(default_factory=dict)
    overlaps: int = 0
    alone: int = 0
    beside: dict[int, asyncio.Barrier] = field(default_factory=dict)

    def seat(self, reply: Sequence[Call]) -> None:
        """Let the reads that stand beside each other in a reply wait for each other."""
        group: list[int] = []
        for call in (*reply, None):
            if call is not None and call.reads:
                group.append(call.tag)
                continue
            barrier = asyncio.Barrier(len(group)) if len(group) > 1 else None
            self.beside |= dict.fromkeys(group, barrier) if barrier else {}
            group = []

    def read(self) -> Values:
        """Read the world."""
        values: Values = json.loads(self.file.read_text("utf-8")) if self.file.exists() else empty()
        return values

    async def make(self, name: str, tag: int, args: Mapping[str, str], call: CallContext) -> str:
        """Carry a call out in two halves, once for each key, and note what runs meanwhile."""
        reads = name in READS
        self.overlaps += any(not (reads and other) for other in self.running.values())
        self.running[tag] = reads
        try:
            if reads:
                await self._together(tag)
                self._die(tag, "before")
                return changed(self.read(), name, args)
            world = self.read()
            if call.idempotency_key in world["keys"]:
                return str(world["keys"][call.idempotency_key])
            for _ in range(TURNS):
                await asyncio.sleep(0)
            self._die(tag, "before")
            brought = changed(world, name, args)
            world["made"].append(tag)
            world["keys"][call.idempotency_key] = brought
            self._write(world)
            self._die(tag, "after")
            return brought
        finally:
            del self.running[tag]

    async def _together(self, tag: int) -> None:
        if barrier := self.beside.get(tag):
            try:
                async with asyncio.timeout(APART_S):
                    await barrier.wait()
            except (TimeoutError, asyncio.BrokenBarrierError):
                self.alone += 1

    def _write(self, world: Values) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(world), "utf-8")
        new.replace(self.file)

    def _die(self, tag: int, when: str) -> None:
        """End this process, once, where its order says so."""
        order = self.file.with_name("die")
        if order.exists() and order.read_text("utf-8") == f"{when} {tag}":
            order.unlink()
            os.kill(os.getpid(), signal.SIGKILL)

    def tools(self) -> list[Capability]:
        """Declare what a model may call."""
        make = self.make

        @_reading
        async def show(thing: str, tag: int, call: CallContext) -> str:
            """Show a thing."""
            return await make("show", tag, {"thing": thing}, call)

        @_reading
        async def path(tag: int, call: CallContext) -> str:
            """Tell where one stands."""
            return await make("path", tag, {}, call)

        @_changing
        async def enter(place: str, tag: int, call: CallContext) -> str:
            """Enter a place."""
            return await make("enter", tag, {"place": place}, call)

        @_changing
        async def leave(tag: int, call: CallContext) -> str:
            """Leave a place."""
            return await make("leave", tag, {}, call)

        @_changing
        async def put(thing: str, word: str, tag: int, call: CallContext) -> str:
            """Put a thing."""
            return await make("put", tag, {"thing": thing, "word": word}, call)

        @_changing
        async def extend(thing: str, word: str, tag: int, call: CallContext) -> str:
            """Say more of a thing."""
            return await make("extend", tag, {"thing": thing, "word": word}, call)

        @_changing
        async def swap(thing: str, other: str, tag: int, call: CallContext) -> str:
            """Swap two things."""
            return await make("swap", tag, {"thing": thing, "other": other}, call)

        @_changing
        async def remove(thing: str, tag: int, call: CallContext) -> str:
            """Remove a thing."""
            return await make("remove", tag, {"thing": thing}, call)

        @capability("world.wipe", trusted_result=True, mode="destructive", effect="idempotent")
        async def wipe(thing: str, tag: int, call: CallContext) -> str:
            """Wipe a thing, when a person agrees."""
            return await make("wipe", tag, {"thing": thing}, call)

        return [show, path, enter, leave, put, extend, swap, remove, wipe]


def _reading(function: Callable[..., Any]) -> Capability:
    return capability(f"world.{function.__name__}", trusted_result=True, mode="read_only")(function)


def _changing(function: Callable[..., Any]) -> Capability:
    name = f"world.{function.__name__}"
    return capability(name, trusted_result=True, mode="local_write", effect="idempotent")(function)
