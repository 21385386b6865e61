"""The loop behind `invoke`: it starts on first use, and nothing of it is left when it is closed."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from planwright.graph.building import build_graph
from planwright.graph.entry.sync_loop import BackgroundLoop
from planwright.settings.settings import load
from tests.patience import PATIENCE_S


def ours() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if "planwright" in thread.name}


def test_a_closed_agent_leaves_no_thread_behind(tmp_path: Path) -> None:
    before = ours()
    agent = build_graph(load(tmp_path))
    agent.invoke({"messages": [("user", "What time is it?")]}, {"configurable": {"thread_id": "t"}})
    assert ours() - before  # a thread of an earlier test may still be ending
    agent.close()
    for thread in ours() - before:
        thread.join(timeout=PATIENCE_S)
    assert ours() <= before


def test_what_still_runs_when_it_is_closed_is_cancelled() -> None:
    loop, ended = BackgroundLoop(), threading.Event()

    async def endless() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    async def begin() -> asyncio.Task[None]:
        task = asyncio.create_task(endless())
        await asyncio.sleep(0)
        return task

    task = loop.call(begin)
    loop.close()
    assert ended.is_set()
    assert task.cancelled()


def test_what_does_not_heed_that_it_was_cancelled_runs_on_after_it_was_closed() -> None:
    loop, goes_on, ended = BackgroundLoop(), threading.Event(), threading.Event()

    async def heedless() -> None:
        while not goes_on.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        ended.set()

    async def begin() -> asyncio.Task[None]:
        task = asyncio.create_task(heedless())
        await asyncio.sleep(0)
        task.cancel()  # as a call is whose time is over
        return task

    task = loop.call(begin)
    loop.close()
    assert not task.done()
    goes_on.set()
    assert ended.wait(PATIENCE_S)


def test_it_can_be_used_again_after_it_was_closed() -> None:
    loop = BackgroundLoop()

    async def one() -> int:
        return 1

    assert loop.call(one) == 1
    loop.close()
    loop.close()
    assert loop.call(one) == 1
    loop.close()


@pytest.mark.parametrize("closes", [1, 2])
def test_an_agent_that_was_never_used_closes(tmp_path: Path, closes: int) -> None:
    agent = build_graph(load(tmp_path))
    for _ in range(closes):
        agent.close()
