"""Capabilities of a user's own for the sweep over the seams: they write down what they are given."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, Field

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected

FilePath = Annotated[str, Field(json_schema_extra={"format": "path"})]


@dataclass(frozen=True)
class Receipt:
    """What one call of a capability was given, as its receiver saw it."""

    capability: str
    """Name of the capability."""
    args: Mapping[str, Any]
    """Arguments, by name."""
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of what each file held that the call read, by its path."""
    text: str = ""
    """What arrived outside, where no arguments are seen there."""


@dataclass
class Desk:
    """Who receives the calls of the capabilities below, and what `desk.book` answers."""

    received: list[Receipt] = field(default_factory=list)
    answer: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, name: str, files: Mapping[str, str] | None = None, **args: Any) -> str:
        """Write a call down."""
        with self._lock:
            self.received.append(Receipt(name, args, files or {}))
        return "done"


class Booking(BaseModel):
    """What whoever takes a booking answers, in words of their own."""

    text: str


def own_capabilities(desk: Desk) -> list[Capability]:
    """Declare six capabilities that change something, each with and without `destinations`."""
    plain = _six(desk, "", {})
    narrow = {
        "pay": ("account",),
        "note": ("page",),
        "post": ("room",),
        "hand": ("to", "file"),
        "errand": ("place",),
        "wipe": ("section",),
    }
    return [*plain, *_six(desk, "_to", narrow), *_others(desk)]


def _six(desk: Desk, suffix: str, to: Mapping[str, Sequence[str]]) -> list[Capability]:
    def name(word: str) -> str:
        return f"desk.{word}{suffix}"

    @capability(name("pay"), mode="local_write", risk="High", destinations=to.get("pay", ()))
    def pay(account: str, cents: int) -> str:
        """Pay money to an account."""
        return desk.take(name("pay"), account=account, cents=cents)

    @capability(name("note"), mode="local_write", risk="Low", destinations=to.get("note", ()))
    def note(page: str, text: str) -> str:
        """Note a text on a page."""
        return desk.take(name("note"), page=page, text=text)

    @capability(
        name("post"),
        mode="network",
        risk="Medium",
        destinations=to.get("post", ()),
        hosts=lambda args, call: ["127.0.0.1:9"],
        preflight=lambda args, call: None,
    )
    def post(room: str, text: str) -> str:
        """Post a text in a room."""
        return desk.take(name("post"), room=room, text=text)

    @capability(name("hand"), mode="local_write", risk="Medium", destinations=to.get("hand", ()))
    def hand(to: str, file: FilePath, call: CallContext) -> str:
        """Hand a file over to somebody."""
        content = call.workspace.read_bytes(file)
        return desk.take(name("hand"), {file: hashlib.sha256(content).hexdigest()}, to=to, file=file)

    @capability(name("errand"), mode="delegated", risk="Medium", destinations=to.get("errand", ()))
    def errand(place: str, what: str) -> str:
        """Run an errand in somebody's name."""
        return desk.take(name("errand"), place=place, what=what)

    @capability(name("wipe"), mode="destructive", destinations=to.get("wipe", ()))
    def wipe(section: str) -> str:
        """Wipe a section for good."""
        return desk.take(name("wipe"), section=section)

    return [pay, note, post, hand, errand, wipe]


def _others(desk: Desk) -> list[Capability]:
    """Declare what the ways need: an effect that is undone, and calls that fail."""

    @capability("desk.book", mode="local_write", risk="Low", effect="idempotent")
    def book(text: str) -> Booking:
        """Book something with somebody who answers."""
        desk.take("desk.book", text=text)
        return Booking(text=desk.answer)

    @capability("desk.fail", mode="local_write", risk="Medium", effect="idempotent", trusted_result=True)
    def fail(text: str = "") -> str:
        """Fail each time."""
        raise CapabilityRejected("that is never possible")

    @capability("desk.look", mode="read_only", trusted_result=True)
    def look(text: str = "") -> str:
        """Look, and find nothing."""
        raise CapabilityRejected("there is nothing to be seen")

    return [book, fail, look]
