"""The stores of a fresh folder, and a run that this process holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from planwright.checkpoints.runs import Run
from planwright.checkpoints.stores import Stores, open_stores
from tests.patience import PATIENCE_S

Begin = Callable[..., Awaitable[int]]


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_stores(tmp_path / "store", busy_timeout_s=PATIENCE_S)
    yield opened
    opened.close()


@pytest.fixture
def make_run() -> Callable[..., Run]:
    """Make the row of a run that has just begun."""

    def make(run_id: str = "run_1", thread_id: str = "thread_1") -> Run:
        return Run(
            run_id=run_id,
            thread_id=thread_id,
            tenant="acme",
            status="running",
            request="do it",
            messages=[],
            context={},
            started_at="2026-11-21T12:00:00+00:00",
        )

    return make


@pytest.fixture
def begin(stores: Stores, make_run: Callable[..., Run]) -> Begin:
    """Write a run down and lease it; returns the fencing token."""

    async def begin(run_id: str = "run_1", thread_id: str = "thread_1", now: float = 1000.0) -> int:
        return await stores.runs.lease(make_run(run_id, thread_id), 60, now)

    return begin
