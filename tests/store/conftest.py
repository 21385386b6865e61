"""The stores of a fresh folder, and a run that this process holds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from planwright.domain.clock import Timer
from planwright.domain.lease import Lease
from planwright.records.runs import Run
from planwright.records.stores import Stores, open_stores
from tests.opened_store import store_url
from tests.patience import PATIENCE_S
from tests.turned_clock import Machine

Begin = Callable[..., Awaitable[Lease]]


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_stores(tmp_path / "store", busy_timeout_s=PATIENCE_S, timer=Timer(), url=store_url())
    yield opened
    opened.close()


@pytest.fixture
def machine() -> Machine:
    """A machine whose clock the test turns."""
    return Machine()


@pytest.fixture
def timed(tmp_path: Path, machine: Machine) -> Iterator[Stores]:
    """The stores of a fresh folder, as a process of that machine opens them."""
    opened = open_stores(tmp_path / "store", clock=machine.clock, timer=machine.timer(), url=store_url())
    yield opened
    opened.close()


@pytest.fixture
def make_run() -> Callable[..., Run]:
    """Make the row of a run that has just begun."""

    def make(run_id: str = "run_1", thread_id: str = "thread_1", tenant: str = "acme") -> Run:
        return Run(
            run_id=run_id,
            thread_id=thread_id,
            tenant=tenant,
            status="running",
            request="do it",
            messages=[],
            context={},
            started_at="2026-11-21T12:00:00+00:00",
        )

    return make


@pytest.fixture
def begin(stores: Stores, make_run: Callable[..., Run]) -> Begin:
    """Write a run down, and take it for this process."""

    async def begin(run_id: str = "run_1", thread_id: str = "thread_1", tenant: str = "acme") -> Lease:
        return await stores.leases.take(make_run(run_id, thread_id, tenant), 60)

    return begin


@pytest.fixture
def lease(stores: Stores, make_run: Callable[..., Run]) -> Lease:
    """The lease of a run that has just begun."""
    return asyncio.run(stores.leases.take(make_run(), 60))
