"""Nothing is written for a run after a row of it that was refused, until somebody takes it anew."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from planwright.domain.errors import StoreFailed
from planwright.domain.events import Event
from planwright.domain.lease import Lease
from planwright.records.runs import Run
from planwright.records.stores import Stores
from planwright.store.fencing import held, ride
from tests.patience import PATIENCE_S

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
UNTITLED = "INSERT INTO threads (thread_id, tenant, title) VALUES ('thread_1', 'acme', NULL)"


def refused(connection: sqlite3.Connection) -> None:
    """Write a row that the store refuses."""
    connection.execute(UNTITLED)


def nothing(_: sqlite3.Connection) -> None:
    """Do nothing."""


@contextmanager
def one_commit(stores: Stores) -> Iterator[None]:
    """Let all that is queued in the block be committed together."""
    entered, leave = threading.Event(), threading.Event()

    def wait(_: sqlite3.Connection) -> None:
        entered.set()
        assert leave.wait(PATIENCE_S)

    waiting = stores.database.submit("wait", wait)
    assert entered.wait(PATIENCE_S)
    yield
    leave.set()
    waiting.result(PATIENCE_S)


def event(lease: Lease, number: int) -> Event:
    return Event(
        v=1,
        seq=number,
        ts=NOW.isoformat(),
        run_id=lease.run_id,
        thread_id=lease.thread_id,
        type="progress",
        data={},
    )


def told(stores: Stores, lease: Lease) -> set[str]:
    return asyncio.run(stores.journal.keys(lease.run_id))


def test_what_is_queued_behind_a_refused_row_is_not_written_even_in_the_same_commit(
    stores: Stores, lease: Lease, caplog: pytest.LogCaptureFixture
) -> None:
    with one_commit(stores):
        stores.journal.append(event(lease, 1), "before", lease)
        ride(stores.database, "note", lease, refused)
        behind = stores.database.submit("status", held(lease, nothing))
        stores.runs.end(lease, "completed", "done", NOW)
    with pytest.raises(StoreFailed, match="refuses a statement"):
        behind.result(PATIENCE_S)
    with pytest.raises(StoreFailed, match="refuses a statement"):
        lease.check()
    stores.journal.append(event(lease, 2), "after", lease)
    assert told(stores, lease) == {"before"}
    run = asyncio.run(stores.runs.read(lease.run_id))
    assert run is not None
    assert run.status == "running"
    assert [record.levelname for record in caplog.records if "note was not written" in record.message] == [
        "ERROR"
    ]


def test_other_runs_go_on_and_so_does_who_takes_the_run_anew(
    stores: Stores, make_run: Callable[..., Run]
) -> None:
    lease = asyncio.run(stores.leases.take(make_run(), 60))
    other = asyncio.run(stores.leases.take(make_run("run_2", "thread_2"), 60))
    ride(stores.database, "note", lease, refused)
    stores.database.submit("status", held(other, nothing)).result(PATIENCE_S)
    asyncio.run(stores.leases.release(lease))
    anew = asyncio.run(stores.leases.take(make_run(), 60))
    stores.database.submit("status", held(anew, nothing)).result(PATIENCE_S)
    with pytest.raises(StoreFailed):
        stores.database.submit("status", held(lease, nothing)).result(PATIENCE_S)


def test_a_journal_that_cannot_be_written_stops_each_run_that_it_is_of(
    stores: Stores, make_run: Callable[..., Run]
) -> None:
    runs = make_run(), make_run("run_2", "thread_2"), make_run("run_3", "thread_3")
    leases = [asyncio.run(stores.leases.take(run, 60)) for run in runs]
    with one_commit(stores):
        for lease in leases[:2]:
            stores.journal.append({**event(lease, 1), "ts": None}, "progress", lease)  # type: ignore[typeddict-item]
    stores.database.call("note", nothing)
    assert [len(lease.unwritten) for lease in leases] == [1, 1, 0]
