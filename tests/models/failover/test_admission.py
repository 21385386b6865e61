"""Calls wait for their turn, first come, first served, and what they wait counts for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from planwright.domain.errors import ModelCancelled
from planwright.domain.lease import Lease
from planwright.domain.run_context import RunContext
from planwright.models.failover.admission import Admission
from planwright.settings.profile import in_force
from planwright.settings.settings import load
from planwright.state.agent_state import ModelRoute
from planwright.state.invocation import Invocation
from planwright.state.step_board import StepBoard

A, B = ModelRoute(provider="a", model="m"), ModelRoute(provider="b", model="m")


@dataclass
class Desk:
    """Calls of one run each, at a provider that takes two at once, and a clock that a test moves on."""

    folder: Path
    now: float = 100.0
    admission: Admission = field(default_factory=lambda: Admission(lambda route: 2))
    begun: list[str] = field(default_factory=list)
    ends: dict[str, asyncio.Event] = field(default_factory=dict)

    def invocation(self) -> Invocation:
        lease = Lease("run", "thread", "default", 1, "me")
        profile = in_force(load(self.folder), RunContext())
        board, seconds = StepBoard([], 1), lambda: self.now
        return Invocation(lease, RunContext(), profile, board, lambda event, key: None, seconds=seconds)

    def call(self, name: str, route: ModelRoute = A, run: Invocation | None = None) -> asyncio.Task[None]:
        """Begin a call that lasts until its event is set."""
        self.ends[name] = asyncio.Event()
        return asyncio.create_task(self._call(name, route, run or self.invocation()))

    async def _call(self, name: str, route: ModelRoute, run: Invocation) -> None:
        async with self.admission.turn(route, run):
            self.begun.append(name)
            await self.ends[name].wait()

    @asynccontextmanager
    async def full(self) -> AsyncIterator[None]:
        """Hold both places for the length of a block."""
        holding = [self.call("one"), self.call("two")]
        await settled()
        yield
        for name in ("one", "two"):
            self.ends[name].set()
        await asyncio.gather(*holding)


async def settled() -> None:
    """Let every task go on as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_no_more_are_asked_at_once_than_may_and_the_first_to_come_go_first(desk: Desk) -> None:
    calls = [desk.call(name) for name in "abcde"]
    await settled()
    assert desk.begun == ["a", "b"]
    for name, begun in (("b", "abc"), ("a", "abcd"), ("c", "abcde")):
        desk.ends[name].set()
        await settled()
        assert "".join(desk.begun) == begun
    desk.ends["d"].set()
    desk.ends["e"].set()
    await asyncio.gather(*calls)


async def test_each_provider_has_places_of_its_own(desk: Desk) -> None:
    async with desk.full():
        other = desk.call("other", B)
        await settled()
        assert desk.begun[2:] == ["other"]
        desk.ends["other"].set()
        await other


async def test_what_a_run_waits_is_no_work_of_its(desk: Desk) -> None:
    run = desk.invocation()
    async with desk.full():
        waiting = [desk.call("third", run=run), desk.call("fourth", run=run)]
        await settled()
        desk.now += 1000
        assert run.worked_s == 0
    await settled()
    desk.now += 7
    assert run.worked_s == 7
    for name in ("third", "fourth"):
        desk.ends[name].set()
    await asyncio.gather(*waiting)
    assert run.worked_s == 7


async def test_a_run_that_was_cancelled_waits_no_longer(desk: Desk) -> None:
    run = desk.invocation()
    async with desk.full():
        waiting = desk.call("third", run=run)
        await settled()
        run.cancelled_by = "ada"
        with pytest.raises(ModelCancelled, match="cancelled by ada"):
            await waiting
    assert desk.begun == ["one", "two"]
    await one_after_the_other(desk)


async def test_a_place_is_free_again_however_a_call_ends(desk: Desk) -> None:
    holding = [desk.call("one"), desk.call("two")]
    waiting = desk.call("third")
    await settled()
    waiting.cancel()
    holding[0].cancel()
    desk.ends["two"].set()
    ended = await asyncio.gather(*holding, waiting, return_exceptions=True)
    assert [type(end) for end in ended] == [asyncio.CancelledError, type(None), asyncio.CancelledError]
    await one_after_the_other(desk)


async def one_after_the_other(desk: Desk) -> None:
    """Check that both places are free."""
    async with desk.full():
        assert desk.begun[-2:] == ["one", "two"]
