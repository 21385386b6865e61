"""A scene whose runs are queued, and a worker that goes on with them in the test's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from planwright.extras.worker.worker import Worker
from planwright.graph.agent import Agent
from tests.extras.worker.door import Door
from tests.patience import PATIENCE_S
from tests.scenarios.conftest import Scene
from tests.scenarios.conftest import scene as scene
from tests.scenarios.conftest import stage as stage

AtWork = Callable[[Agent], AbstractAsyncContextManager[Worker]]
LOOK_S = 0.01


@pytest.fixture
def at_work() -> AtWork:
    """Let a worker go on with what is queued until the block ends; then it hands over."""

    @asynccontextmanager
    async def at_work(agent: Agent) -> AsyncIterator[Worker]:
        worker = Worker(agent)
        task = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            await asyncio.wait_for(task, PATIENCE_S)

    return at_work


@pytest.fixture
def door() -> Door:
    """A closed door."""
    return Door()


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in another process or thread
            await asyncio.sleep(LOOK_S)


async def until(scene: Scene, *statuses: str) -> list[str]:
    """Wait until every run of a scene has one of these statuses, and return them."""

    def all_are() -> bool:
        rows = scene.rows("SELECT status FROM runs")
        return bool(rows) and all(row["status"] in statuses for row in rows)

    await eventually(all_are)
    return [row["status"] for row in scene.rows("SELECT status FROM runs ORDER BY rowid")]


async def drained(agent: Agent) -> None:
    """Wait until all that an agent works on has been told to stop."""
    await eventually(lambda: all(each.control.drain_requested for each in agent.door.working.values()))
