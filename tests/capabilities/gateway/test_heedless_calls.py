"""An async call ends at its limit, also where it does not heed that it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Capability
from planwright.capabilities.declaration import capability
from planwright.capabilities.gateway.invoke import invoke
from planwright.domain.errors import BrokeOff, CapabilityUnavailable, EffectInDoubt, StillUnderWay
from planwright.domain.risk import Effect
from planwright.records.records import open_records
from planwright.security.jail import Jail
from planwright.settings.settings import load
from tests.loop_clock import LoopClock
from tests.patience import PATIENCE_S

Tell = Callable[[str], object]


class Work:
    """Work that goes on until it is told to end, however often it is cancelled."""

    def __init__(self, effect: Effect = "blind", heeds_after: int = 1_000_000) -> None:
        self.ends, self.begun, self.cancelled = asyncio.Event(), asyncio.Event(), 0
        self.left: list[Future[None]] = []
        self._effect, self._heeds_after = effect, heeds_after

    def declare(self) -> Capability:
        """Declare the call, and its lookup, which finds nothing."""

        async def looked() -> str | None:
            """Say that it has not happened."""
            return None

        more: dict[str, Any] = {"lookup": looked} if self._effect == "queryable" else {}
        more["mode"] = "read_only" if self._effect == "pure" else "network"
        return capability("work.do", effect=self._effect, **more)(self.do)

    async def do(self) -> str:
        """Work."""
        self.begun.set()
        while not self.ends.is_set():
            try:
                await self.ends.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                if self.cancelled >= self._heeds_after:
                    raise
        return "done"

    async def call(self, folder: Path, limit_s: float = 0.1) -> object:
        """Call it once."""
        context = CallContext(load(folder), Jail(folder), open_records(folder).memories)
        return await invoke(self.declare(), {}, context, limit_s, self.left.append)


@pytest.mark.parametrize("effect", ["blind", "queryable"])
async def test_what_may_have_happened_is_still_under_way_until_it_has_ended(
    tmp_path: Path, effect: Effect
) -> None:
    work = Work(effect)
    with pytest.raises(StillUnderWay, match=r"within 0\.1 s, and still runs$"):
        await work.call(tmp_path)
    (end,) = work.left
    assert (work.cancelled, end.done()) == (1, False)
    work.ends.set()
    await asyncio.wait_for(asyncio.wrap_future(end), PATIENCE_S)


@pytest.mark.parametrize("effect", ["pure", "idempotent"])
async def test_what_may_be_called_again_is_left_alone(tmp_path: Path, effect: Effect) -> None:
    work = Work(effect)
    with pytest.raises(CapabilityUnavailable, match=r"did not answer within 0\.1 s"):
        await work.call(tmp_path)
    assert work.left == []
    work.ends.set()


async def test_what_heeds_it_has_ended(tmp_path: Path) -> None:
    work = Work(heeds_after=1)
    with pytest.raises(EffectInDoubt, match=r"did not answer within 0\.1 s") as doubt:
        await work.call(tmp_path)
    assert not isinstance(doubt.value, StillUnderWay)
    assert work.left == []


async def test_a_caller_that_is_cancelled_leaves_it_running(tmp_path: Path) -> None:
    work = Work()
    calling = asyncio.create_task(work.call(tmp_path, PATIENCE_S))
    await work.begun.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert [end.done() for end in work.left] == [False]
    work.ends.set()


async def test_what_ends_once_it_is_cancelled_has_brought_what_it_returns(tmp_path: Path) -> None:
    work, clock = Work(), LoopClock(asyncio.get_running_loop())
    calling = asyncio.create_task(work.call(tmp_path, 60))
    await work.begun.wait()
    while not work.cancelled:
        await clock.passed(1)
    work.ends.set()
    assert await calling == "done"


async def test_a_late_loop_cancels_no_call(tmp_path: Path) -> None:
    work, clock = Work(), LoopClock(asyncio.get_running_loop())
    calling = asyncio.create_task(work.call(tmp_path, 60))
    await work.begun.wait()
    clock.jump(600)
    for _ in range(5):
        await asyncio.sleep(0)
    assert work.cancelled == 0
    work.ends.set()
    assert await calling == "done"


@pytest.mark.parametrize("how", [SystemExit(3), asyncio.CancelledError(), StopAsyncIteration()])
async def test_an_end_of_its_own_ends_nothing_else(tmp_path: Path, how: BaseException) -> None:
    @capability("work.end", mode="network", effect="idempotent")
    async def end() -> str:
        """End otherwise."""
        raise how

    context = CallContext(load(tmp_path), Jail(tmp_path), open_records(tmp_path).memories)
    with pytest.raises(BrokeOff, match=type(how).__name__):
        await invoke(end, {}, context, PATIENCE_S)
