"""The board: where the steps of one invocation wait for each other.

All open steps of a plan run in one superstep (`docs/decisions/0002-dataflow.md`). A step waits
here for what it needs, then for a free slot. The door makes a fresh board at every invocation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NoReturn

from langgraph.errors import GraphInterrupt

from planwright.domain.results import StepResult
from planwright.state.lane_places import LanePlaces


class StepBoard:
    """One future a step, by uid, on the event loop of the invocation."""

    def __init__(self, settled: Iterable[StepResult], parallel: int) -> None:
        self.slots = asyncio.Semaphore(parallel)
        self.lanes = LanePlaces(parallel)
        self._loop = asyncio.get_running_loop()
        self._futures: dict[str, asyncio.Future[StepResult | None]] = {}
        self._drained: asyncio.Future[None] = self._loop.create_future()
        for result in settled:
            self.settle(result)

    def settled(self, uid: str) -> StepResult | None:
        """Look up a step that has ended, without waiting."""
        future = self._futures.get(uid)
        return future.result() if future and future.done() else None

    def settle(self, result: StepResult) -> None:
        """Publish how a step ended and wake whoever waits for it."""
        future = self._future(result.uid)
        if not future.done():
            future.set_result(result)

    def learn(self, results: Iterable[StepResult]) -> None:
        """Take over from the record how steps ended, also where a person has said otherwise since."""
        for result in results:
            if self.settled(result.uid) not in (None, result):
                del self._futures[result.uid]
            self.settle(result)

    def wait_on_gate(self, uid: str) -> None:
        """Say that a step waits for a person, or parks, so that its dependents park."""
        future = self._future(uid)
        if not future.done():
            future.set_result(None)

    def drain(self) -> None:
        """Let no more steps begin: whoever waits for others, or for a slot, parks; what runs is finished."""
        if not self._drained.done():
            self._drained.set_result(None)

    def park_if_drained(self, mine: str) -> None:
        """Park a step that has not begun, where no more may begin."""
        if self._drained.done():
            self._park(mine)

    def _park(self, mine: str) -> NoReturn:
        self.wait_on_gate(mine)
        raise GraphInterrupt(())

    async def inputs(self, uids: Iterable[str], mine: str) -> dict[str, StepResult]:
        """Wait until some steps have ended and return how.

        When one of them waits on a gate, or no more steps may begin, the step `mine` parks: it raises an
        empty `GraphInterrupt`, shows no interrupt of its own, and runs again at the next resume.
        """
        results: dict[str, StepResult] = {}
        for uid in uids:
            future = self._future(uid)
            if not future.done():
                await asyncio.wait((future, self._drained), return_when=asyncio.FIRST_COMPLETED)
            result = future.result() if future.done() else None
            if result is None:
                self._park(mine)
            results[uid] = result
        return results

    def _future(self, uid: str) -> asyncio.Future[StepResult | None]:
        if uid not in self._futures:
            self._futures[uid] = self._loop.create_future()
        return self._futures[uid]
