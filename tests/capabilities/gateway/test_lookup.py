"""A queryable effect is looked up before it is sent again: at its receiver, who knows what happened."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.gateway.attempts import backoff_s
from planwright.domain.errors import (
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
    SetupError,
)
from tests.loop_clock import LoopClock
from tests.patience import PATIENCE_S

MakeBench = Callable[..., Awaitable[Any]]


def test_the_wait_before_an_attempt_grows_to_eight_seconds_and_no_further() -> None:
    assert all(8 <= backoff_s(attempt, 0.5) <= 8.1 for attempt in (5, 100, 5_000))


class Receiver:
    """Remembers what it was sent, by key; it may fail, and act without answering."""

    def __init__(self) -> None:
        self.sent: dict[str, str] = {}
        self.calls: list[str] = []
        self.before: list[BaseException | None] = []
        self.after: list[BaseException | None] = []
        self.lookups: list[BaseException | None] = []
        self.answers: list[object] = []

    def declare(self, **declared: Any) -> Capability:
        """Declare a call to this receiver, and its lookup."""

        async def lookup(what: str, call: CallContext) -> str | None:
            self.calls.append(f"lookup {what}")
            _raise(self.lookups)
            return self.answers.pop(0) if self.answers else self.sent.get(call.idempotency_key)  # type: ignore[return-value]

        @capability("a.do", mode="local_write", effect="queryable", lookup=lookup, **declared)
        async def do(call: CallContext, what: str = "x") -> str:
            """Do something."""
            self.calls.append(f"send {what}")
            _raise(self.before)
            self.sent[call.idempotency_key] = f"did {what}"
            _raise(self.after)
            if "slow" in what:
                await asyncio.sleep(30)
            return f"did {what}"

        return do


def _raise(errors: list[BaseException | None]) -> None:
    if errors and (error := errors.pop(0)) is not None:
        raise error


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


async def begun(make_bench: MakeBench, receiver: Receiver, **flags: Any) -> Any:
    """Leave an intent behind, as a process does that dies in the call."""
    bench = await make_bench(receiver.declare(), **flags)
    await bench.call("a.do")
    bench.stores.database.call("crash", lambda c: c.execute("UPDATE effects SET status='intent'").rowcount)
    receiver.calls.clear()
    return bench


def remark(bench: Any) -> str:
    said: str = bench.stores.database.call(
        "read", lambda c: c.execute("SELECT error FROM effects").fetchone()[0]
    )
    return said


async def test_a_call_that_is_answered_is_never_looked_up(make_bench: MakeBench, receiver: Receiver) -> None:
    bench = await make_bench(receiver.declare())
    assert await bench.call("a.do") == "did x"
    assert receiver.calls == ["send x"]
    assert (bench.effects(), bench.lookups, remark(bench)) == ([("a.do", "done")], [], "")


async def test_after_a_crash_what_has_happened_is_recorded_and_not_sent(
    make_bench: MakeBench, receiver: Receiver
) -> None:
    bench = await begun(make_bench, receiver)
    assert [await bench.call("a.do") for _ in range(2)] == ["did x", "did x"]
    assert receiver.calls == ["lookup x"]
    assert (bench.effects(), bench.lookups) == ([("a.do", "done")], [("found", "")])
    assert remark(bench) == "found by its lookup"


async def test_after_a_crash_what_has_not_happened_is_sent_under_the_same_key(
    make_bench: MakeBench, receiver: Receiver
) -> None:
    bench = await begun(make_bench, receiver)
    keys, receiver.sent = list(receiver.sent), {}
    assert await bench.call("a.do") == "did x"
    assert receiver.calls == ["lookup x", "send x"]
    assert (list(receiver.sent), bench.effects()) == (keys, [("a.do", "done")])
    assert bench.lookups == [("absent", "")]


async def test_a_lookup_that_fails_for_now_is_tried_again(make_bench: MakeBench, receiver: Receiver) -> None:
    bench = await begun(make_bench, receiver)
    receiver.lookups = [CapabilityUnavailable("busy"), CapabilityUnavailable("still busy")]
    assert await bench.call("a.do") == "did x"
    assert receiver.calls == ["lookup x"] * 3
    assert bench.retries == [(1, "busy"), (2, "still busy")]
    assert bench.lookups == [("unknown", "busy"), ("unknown", "still busy"), ("found", "")]


@pytest.mark.parametrize(
    ("failures", "answers", "lookups", "said"),
    [
        ([CapabilityUnavailable("busy")] * 3, [], 3, "its lookup failed: busy"),
        ([CapabilityRejected("no such service")], [], 1, "its lookup failed: no such service"),
        ([ValueError("a bug")], [], 1, "its lookup failed: a.do, its lookup failed: ValueError: a bug"),
        ([EffectInDoubt("who knows")], [], 1, "its lookup failed: who knows"),
        ([], [7], 1, "its lookup failed: it returned what it does not declare"),
    ],
    ids=["unavailable", "rejected", "broken", "in doubt itself", "no result"],
)
async def test_what_cannot_be_looked_up_is_in_doubt_and_never_sent(
    make_bench: MakeBench,
    receiver: Receiver,
    failures: list[BaseException | None],
    answers: list[object],
    lookups: int,
    said: str,
) -> None:
    bench = await begun(make_bench, receiver)
    receiver.lookups, receiver.answers = list(failures), answers
    with pytest.raises(EffectInDoubt, match=r"nobody knows whether a\.do happened") as doubt:
        await bench.call("a.do")
    assert said in doubt.value.cause
    assert receiver.calls == ["lookup x"] * lookups
    assert bench.effects() == [("a.do", "in_doubt")]
    with pytest.raises(EffectInDoubt):
        await bench.call("a.do")
    assert len(receiver.calls) == lookups


async def test_a_call_that_nothing_was_heard_of_is_looked_up_before_it_is_sent_again(
    make_bench: MakeBench, receiver: Receiver
) -> None:
    bench = await make_bench(receiver.declare(timeout_s=0.05))
    assert await bench.call("a.do", what="slow") == "did slow"
    assert receiver.calls == ["send slow", "lookup slow"]


class Blocking:
    """A call that blocks its thread until it may act, and the clock of whoever waits for it."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._clock = LoopClock(asyncio.get_running_loop())
        self._begun, self._may_act = threading.Event(), threading.Event()

    def declare(self) -> Capability:
        """Declare the call, and its lookup."""
        receiver = self._receiver

        def lookup(call: CallContext) -> str | None:
            receiver.calls.append("lookup")
            return receiver.sent.get(call.idempotency_key)

        @capability("a.do", mode="local_write", effect="queryable", lookup=lookup, timeout_s=60)
        def do(call: CallContext) -> str:
            """Do something."""
            receiver.calls.append("send")
            self._begun.set()
            self._may_act.wait(PATIENCE_S)
            receiver.sent[call.idempotency_key] = "did it"
            return "did it"

        return do

    async def be_late(self, seconds: float) -> None:
        """Let time pass while the call runs, and whoever waits take note of it."""
        assert await asyncio.to_thread(self._begun.wait, PATIENCE_S)
        await self._clock.passed(seconds)

    def act(self) -> None:
        """Let the call end."""
        self._may_act.set()


async def test_a_blocking_call_that_is_late_is_waited_for(make_bench: MakeBench, receiver: Receiver) -> None:
    blocking = Blocking(receiver)
    bench = await make_bench(blocking.declare())
    call = asyncio.create_task(bench.call("a.do"))
    await blocking.be_late(61)
    blocking.act()
    assert await call == "did it"
    assert (receiver.calls, bench.effects()) == (["send"], [("a.do", "done")])


async def test_a_blocking_call_is_neither_looked_up_nor_sent_again_while_it_still_runs(
    make_bench: MakeBench, receiver: Receiver
) -> None:
    blocking = Blocking(receiver)
    bench = await make_bench(blocking.declare())
    call = asyncio.create_task(bench.call("a.do"))
    try:
        for seconds in (61, 121):
            await blocking.be_late(seconds)
        with pytest.raises(EffectInDoubt, match=r"within 60 s, and still runs"):
            await call
        assert bench.effects() == [("a.do", "intent")]
    finally:
        blocking.act()
    query = "SELECT owner FROM effects"
    while bench.stores.database.call("read", lambda c: c.execute(query).fetchone()[0]):  # noqa: ASYNC110
        await asyncio.sleep(0.01)  # a thread writes it
    assert (receiver.calls, bench.effects()) == (["send"], [("a.do", "intent")])
    assert await bench.call("a.do") == "did it"
    assert (receiver.calls, bench.effects()) == (["send", "lookup"], [("a.do", "done")])


@pytest.mark.parametrize(
    "failure",
    [EffectInDoubt("cut off"), CapabilityUnavailable("busy")],
    ids=["nobody knows", "it says that nothing happened"],
)
async def test_a_call_that_did_not_happen_is_sent_again(
    make_bench: MakeBench, receiver: Receiver, failure: Exception
) -> None:
    receiver.before = [failure]
    bench = await make_bench(receiver.declare())
    assert await bench.call("a.do") == "did x"
    assert (receiver.calls, len(bench.retries)) == (["send x", "lookup x", "send x"], 1)


async def test_a_call_that_happened_is_not_sent_again_when_it_says_that_nothing_did(
    make_bench: MakeBench, receiver: Receiver
) -> None:
    receiver.after = [CapabilityUnavailable("the line went dead")]
    bench = await make_bench(receiver.declare())
    assert await bench.call("a.do") == "did x"
    assert (receiver.calls, remark(bench)) == (["send x", "lookup x"], "found by its lookup")


async def test_a_call_that_says_that_nothing_happened_has_failed_where_its_lookup_cannot_tell(
    make_bench: MakeBench, receiver: Receiver
) -> None:
    receiver.before = [CapabilityUnavailable("nobody there")] * 9
    receiver.lookups = [CapabilityUnavailable("nobody there")] * 9
    bench = await make_bench(receiver.declare())
    with pytest.raises(CapabilityUnavailable, match="nobody there"):
        await bench.call("a.do")
    assert receiver.calls.count("send x") == 1
    assert bench.effects() == [("a.do", "failed")]


async def test_a_call_that_broke_off_after_it_happened_is_done(
    make_bench: MakeBench, receiver: Receiver
) -> None:
    receiver.after = [ValueError("cannot read the answer")]
    bench = await make_bench(receiver.declare())
    assert await bench.call("a.do") == "did x"
    assert (receiver.calls, remark(bench)) == (["send x", "lookup x"], "found by its lookup")


async def test_a_call_that_broke_off_before_it_happened_has_failed_for_good(
    make_bench: MakeBench, receiver: Receiver
) -> None:
    receiver.before = [ValueError("a bug")]
    bench = await make_bench(receiver.declare())
    with pytest.raises(CapabilityRejected, match=r"a\.do broke off: ValueError: a bug"):
        await bench.call("a.do")
    assert receiver.calls == ["send x", "lookup x"]
    assert bench.effects() == [("a.do", "failed")]


async def test_calls_and_lookups_share_the_retries(make_bench: MakeBench, receiver: Receiver) -> None:
    receiver.before = [EffectInDoubt("cut off")] * 9
    receiver.lookups = [CapabilityUnavailable("busy")] + [None] * 9
    bench = await make_bench(receiver.declare())
    with pytest.raises(CapabilityUnavailable, match="cut off"):
        await bench.call("a.do")
    assert receiver.calls == ["send x", "lookup x", "lookup x", "send x", "lookup x"]
    assert bench.effects() == [("a.do", "failed")]


def done() -> str:
    """Do something."""
    return ""


def maybe() -> str | None:
    """Do something, or nothing."""
    return None


def seen() -> str | None:
    return None


def untyped(what):  # type: ignore[no-untyped-def]
    return None


def nosy(whom: str) -> str | None:
    return None


@pytest.mark.parametrize(
    ("declared", "function", "said"),
    [
        ({"effect": "queryable"}, done, "a.do is queryable, and has no lookup"),
        ({"effect": "idempotent", "lookup": seen}, done, "is idempotent: its lookup would never be asked"),
        ({"lookup": seen}, done, "a.do is blind: its lookup would never be asked"),
        ({"effect": "queryable", "lookup": seen}, maybe, "a.do may return None"),
        ({"effect": "queryable", "lookup": untyped}, done, "a.do, its lookup: `what` has no type hint"),
        ({"effect": "queryable", "lookup": nosy}, done, "the lookup of a.do asks for `whom`"),
    ],
    ids=["none", "idempotent", "blind", "None as a result", "no types", "an argument too many"],
)
def test_a_declaration_that_could_not_be_kept_is_refused_at_import(
    declared: dict[str, Any], function: Callable[..., Any], said: str
) -> None:
    with pytest.raises(SetupError, match=said):
        capability("a.do", mode="local_write", **declared)(function)


async def test_a_call_that_varies_to_queryable_needs_a_lookup(make_bench: MakeBench) -> None:
    bare = capability("a.do", mode="local_write", varies=lambda args, call: ("Low", "queryable"))(done)
    bench = await make_bench(bare)
    with pytest.raises(CapabilityRejected, match="varies to queryable, and has no lookup"):
        await bench.call("a.do")
