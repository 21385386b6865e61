"""An async call that hands work to a thread has not ended before that has, however it is stopped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.gateway.call_threads import end_of
from planwright.capabilities.gateway.invoke import invoke
from planwright.domain.errors import CapabilityUnavailable, EffectInDoubt, StillUnderWay
from planwright.domain.risk import Effect
from planwright.graph.entry.sync_loop import see_threads
from planwright.records.records import open_records
from planwright.security.jail import Jail
from planwright.settings.settings import load
from tests.patience import PATIENCE_S


@pytest.fixture
def goes_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def sending(effect: Effect, goes_on: threading.Event, breaks: bool = False) -> Capability:
    async def sent(name: str) -> str | None:
        """Say that it has not happened."""
        return None

    async def send(name: str) -> str:
        """Send by a client that blocks."""
        work = asyncio.to_thread(goes_on.wait, PATIENCE_S)
        if breaks:
            await asyncio.wait({asyncio.ensure_future(work)}, timeout=0.02)
            raise ValueError("not like this")
        await asyncio.gather(work)
        return name

    looked: dict[str, Any] = {"lookup": sent} if effect == "queryable" else {}
    return capability("late.send", mode="network", effect=effect, **looked)(send)


def context(folder: Path) -> CallContext:
    return CallContext(load(folder), Jail(folder), open_records(folder).memories)


@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("effect", ["blind", "queryable"])
async def test_a_call_whose_thread_goes_on_is_still_under_way(
    tmp_path: Path, goes_on: threading.Event, effect: Effect, breaks: bool
) -> None:
    see_threads(asyncio.get_running_loop())
    left: list[Future[None]] = []
    with pytest.raises(StillUnderWay):
        await invoke(sending(effect, goes_on, breaks), {"name": "a"}, context(tmp_path), 0.1, left.append)
    assert not left[0].done()
    goes_on.set()
    await asyncio.wait_for(asyncio.wrap_future(left[0]), PATIENCE_S)


async def test_a_call_whose_thread_ends_meanwhile_can_be_looked_up(
    tmp_path: Path, goes_on: threading.Event
) -> None:
    async def sent(name: str) -> str | None:
        """Say that it has not happened."""
        return None

    @capability("late.send", mode="network", effect="queryable", lookup=sent)
    async def send(name: str) -> str:
        """Send by a client that blocks, and stop it when nobody waits any more."""
        try:
            await asyncio.to_thread(goes_on.wait, PATIENCE_S)
        finally:
            goes_on.set()
        return name

    see_threads(asyncio.get_running_loop())
    with pytest.raises(EffectInDoubt) as doubt:
        await invoke(send, {"name": "a"}, context(tmp_path), 0.1)
    assert not isinstance(doubt.value, StillUnderWay)


async def test_a_call_that_may_be_made_again_is_not_waited_for(
    tmp_path: Path, goes_on: threading.Event
) -> None:
    see_threads(asyncio.get_running_loop())
    with pytest.raises(CapabilityUnavailable):
        await invoke(sending("idempotent", goes_on), {"name": "a"}, context(tmp_path), 0.05)
    goes_on.set()  # the end of an event loop waits for its threads


async def test_a_caller_that_is_cancelled_leaves_the_call_running(
    tmp_path: Path, goes_on: threading.Event
) -> None:
    see_threads(asyncio.get_running_loop())
    left: list[Future[None]] = []
    call = invoke(sending("blind", goes_on), {"name": "a"}, context(tmp_path), PATIENCE_S, left.append)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call, 0.1)
    assert len(left) == 1
    assert not left[0].done()
    goes_on.set()


async def test_a_caller_that_is_cancelled_while_a_thread_is_waited_for_leaves_it_running(
    tmp_path: Path, goes_on: threading.Event
) -> None:
    see_threads(asyncio.get_running_loop())
    left: list[Future[None]] = []
    call = invoke(sending("queryable", goes_on), {"name": "a"}, context(tmp_path), 1, left.append)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call, 1.3)
    assert len(left) == 1
    goes_on.set()


async def test_threads_that_asyncio_has_made_before_are_seen(
    tmp_path: Path, goes_on: threading.Event
) -> None:
    await asyncio.to_thread(int, "1")
    see_threads(asyncio.get_running_loop())
    with pytest.raises(StillUnderWay):
        await invoke(sending("blind", goes_on), {"name": "a"}, context(tmp_path), 0.1)
    goes_on.set()


def test_the_end_of_no_threads_has_come() -> None:
    assert end_of(()).done()


async def test_a_name_that_is_looked_up_is_no_work_of_a_call(
    tmp_path: Path, goes_on: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(*_: object) -> list[object]:
        goes_on.wait(PATIENCE_S)
        return []

    @capability("slow.send", mode="network", effect="blind")
    async def send(name: str) -> str:
        """Look a name up, and say that nothing was sent."""
        try:
            await asyncio.wait_for(asyncio.get_running_loop().getaddrinfo(name, 80), 0.05)
        except TimeoutError as error:
            raise CapabilityUnavailable("nothing was sent") from error
        return name

    see_threads(asyncio.get_running_loop())
    monkeypatch.setattr("socket.getaddrinfo", look_up)
    with pytest.raises(CapabilityUnavailable):
        await invoke(send, {"name": "a"}, context(tmp_path), PATIENCE_S)
    goes_on.set()
