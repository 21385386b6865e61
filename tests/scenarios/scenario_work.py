"""Capabilities that write down, durably, every time they are carried out.

The scenes list this module in `capabilities.modules`; a process loads it once, for all its scenes. How the
modules of a workspace are found is tested in tests/capabilities/test_workspace_modules.py.
"""

from __future__ import annotations

import asyncio
import os
import signal

from pydantic import BaseModel

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.declaration import capability
from planwright.domain.errors import CapabilityRejected, CapabilityUnavailable
from planwright.domain.plan import Compensation


class Done(BaseModel):
    """What was done, and the how manieth time it was."""

    text: str
    turn: int


def note(call: CallContext, line: str) -> int:
    """Append a line to the record and say how often it stands there now."""
    path = call.settings.workspace / "done.log"
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())
    return path.read_text(encoding="utf-8").splitlines().count(line)


def die_if_told(call: CallContext, name: str) -> None:
    """End this process like a power cut, the first time only, when the scene asked for it."""
    order = call.settings.workspace / f"die-{name}"
    if order.exists():
        note(call, f"began {name}")
        order.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def answer_if_not_told(call: CallContext, name: str) -> None:
    """Leave the caller without an answer, or refuse it, as long as the scene asks for that."""
    if (call.settings.workspace / f"mute-{name}").exists():
        raise CapabilityUnavailable("no answer came")
    if (call.settings.workspace / f"refuse-{name}").exists():
        raise CapabilityRejected("not today")


@capability("work.read", trusted_result=True, mode="read_only", tags=("read",))
def read(name: str, call: CallContext) -> Done:
    """Read something."""
    turn = note(call, name)
    return Done(text=f"{name}, reading {turn}", turn=turn)


@capability("work.write", trusted_result=True, mode="local_write", effect="idempotent", tags=("write",))
def write(name: str, call: CallContext, text: str = "") -> Done:
    """Write something down."""
    die_if_told(call, name)
    turn = note(call, f"{name}:{text}" if text else name)
    return Done(text=f"{name} written", turn=turn)


@capability("work.destroy", trusted_result=True, mode="destructive", tags=("destroy",))
def destroy(name: str, call: CallContext, text: str = "") -> Done:
    """Destroy something; nobody can ask afterwards whether it happened."""
    die_if_told(call, name)
    turn = note(call, f"{name}:{text}" if text else name)
    return Done(text=f"{name} destroyed", turn=turn)


def transferred(name: str, call: CallContext) -> Done | None:
    down = call.settings.workspace / "down"
    if down.exists():
        if down.read_text(encoding="utf-8") == "once":
            down.unlink()
        raise CapabilityUnavailable("the receiver is down")
    note(call, f"looked for {name}")
    known = name in (call.settings.workspace / "done.log").read_text(encoding="utf-8").splitlines()
    return Done(text=f"{name} transferred", turn=1) if known else None


@capability(
    "work.transfer",
    trusted_result=True,
    mode="local_write",
    effect="queryable",
    tags=("transfer",),
    lookup=transferred,
)
def transfer(name: str, call: CallContext) -> Done:
    """Transfer something to where it can be looked for afterwards."""
    die_if_told(call, name)
    turn = note(call, name)
    die_if_told(call, f"after {name}")
    return Done(text=f"{name} transferred", turn=turn)


@capability(
    "work.book",
    trusted_result=True,
    mode="local_write",
    effect="idempotent",
    tags=("book",),
    compensation=Compensation(
        capability="work.unbook", params={"name": "{{input.name}}", "turn": "{{output.turn}}"}
    ),
)
def book(name: str, call: CallContext) -> Done:
    """Book something."""
    die_if_told(call, name)
    return Done(text=f"{name} booked", turn=note(call, name))


@capability("work.unbook", trusted_result=True, mode="local_write", effect="idempotent")
def unbook(name: str, call: CallContext, turn: int = 0) -> Done:
    """Take back what was booked."""
    if (call.settings.workspace / f"keep-{name}").exists():
        raise CapabilityRejected(f"{name} cannot be taken back")
    die_if_told(call, f"un{name}")
    return Done(text=f"{name} taken back", turn=note(call, f"un{name} {turn}"))


@capability(
    "work.engrave",
    trusted_result=True,
    mode="local_write",
    tags=("engrave",),
    compensation=Compensation(capability="work.unbook", params={"name": "{{input.name}}"}),
)
def engrave(name: str, call: CallContext) -> Done:
    """Engrave something; nobody can ask afterwards whether it happened."""
    die_if_told(call, name)
    answer_if_not_told(call, "engrave")
    return Done(text=f"{name} engraved", turn=note(call, name))


def post_or_lose(call: CallContext, name: str) -> Done:
    """Do something whose answer is lost once, before or after it happened, when the scene asks for that."""
    die_if_told(call, name)
    for when in ("before", "after"):
        order = call.settings.workspace / f"lose-{when}-{name}"
        if order.exists():
            order.unlink()
            if when == "after":
                note(call, name)
            raise ConnectionError("the line went dead")
    return Done(text=f"{name} posted", turn=note(call, name))


@capability("work.post", trusted_result=True, mode="local_write", effect="blind", tags=("post",))
def post(name: str, call: CallContext, text: str = "") -> Done:
    """Post something; its answer is lost once, before or after it happened, when the scene asks for that."""
    return post_or_lose(call, name)


@capability("work.post_abroad", mode="local_write", effect="blind", tags=("post",))
def post_abroad(name: str, call: CallContext) -> Done:
    """Post something to strangers, who may write what they like into their answer."""
    return post_or_lose(call, name)


@capability(
    "work.engrave_numbered",
    trusted_result=True,
    mode="local_write",
    compensation=Compensation(
        capability="work.unbook", params={"name": "{{input.name}}", "turn": "{{output.turn}}"}
    ),
)
def engrave_numbered(name: str, call: CallContext) -> Done:
    """Engrave something with a number, which alone tells what to take back."""
    die_if_told(call, name)
    return Done(text=f"{name} engraved", turn=note(call, name))


@capability(
    "work.pay",
    trusted_result=True,
    mode="local_write",
    effect="idempotent",
    compensation=Compensation(capability="work.refund", params={"name": "{{input.name}}"}),
)
def pay(name: str, call: CallContext) -> Done:
    """Pay at a receiver that knows its callers' keys."""
    turn = note(call, f"pay {name} {call.idempotency_key}")
    answer_if_not_told(call, "pay")
    return Done(text=f"{name} paid", turn=turn)


@capability("work.refund", trusted_result=True, mode="local_write", effect="idempotent")
def refund(name: str, call: CallContext) -> Done:
    """Pay back."""
    turn = note(call, f"refund {name} {call.idempotency_key}")
    answer_if_not_told(call, "refund")
    return Done(text=f"{name} paid back", turn=turn)


@capability("work.break", trusted_result=True, mode="destructive", effect="idempotent", tags=("break",))
def break_(name: str, call: CallContext) -> Done:
    """Break down the first time, destroy the second time."""
    turn = note(call, name)
    if turn == 1:
        raise ValueError(f"{name} broke down")
    return Done(text=f"{name} destroyed", turn=turn)


@capability("work.wipe", trusted_result=True, mode="destructive", effect="idempotent", tags=("wipe",))
def wipe(name: str, call: CallContext) -> Done:
    """Wipe something; doing it twice is doing it once."""
    die_if_told(call, name)
    return Done(text=f"{name} wiped", turn=note(call, name))


@capability(
    "work.send",
    trusted_result=True,
    mode="network",
    effect="idempotent",
    tags=("send",),
    destinations=("to",),
)
def send(name: str, call: CallContext, to: str = "nobody") -> Done:
    """Send something to a host that nobody listed."""
    return Done(text=f"{name} sent", turn=note(call, f"{name}>{to}"))


@capability("work.slow", trusted_result=True, mode="read_only", tags=("slow",))
async def slow(name: str, call: CallContext) -> Done:
    """Go on until the run is cancelled, and then long enough for that to be noticed."""
    note(call, f"began {name}")
    while not (call.settings.workspace / "cancelled").exists():  # noqa: ASYNC110 - another thread makes it
        await asyncio.sleep(0.01)
    await asyncio.sleep(1)
    return Done(text=f"{name} at last", turn=note(call, name))


@capability("work.fail", trusted_result=True, mode="read_only", tags=("fail",))
def fail(name: str, call: CallContext) -> Done:
    """Fail for good."""
    note(call, name)
    raise ValueError(f"{name} is broken")


@capability("work.spoil", trusted_result=True, mode="local_write", effect="idempotent", tags=("spoil",))
def spoil(name: str, call: CallContext) -> Done:
    """Fail to write something down."""
    note(call, name)
    raise ValueError(f"{name} is spoilt")


@capability("work.flaky", trusted_result=True, mode="read_only", tags=("flaky",))
def flaky(name: str, failures: int, call: CallContext) -> Done:
    """Be unavailable some times, then work."""
    turn = note(call, name)
    if turn <= failures:
        raise CapabilityUnavailable(f"{name} is overloaded")
    return Done(text=f"{name} at last", turn=turn)
