"""The journal: each event once, in order, before what is committed after it."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from planwright.checkpoints.saver import LEASE_KEY
from planwright.domain.errors import LeaseLost, StoreFailed
from planwright.domain.events import Event, EventType
from planwright.domain.lease import Lease
from planwright.records.memories import Memory
from planwright.records.runs import Run
from planwright.records.stores import Stores
from tests.opened_store import opened_store
from tests.patience import PATIENCE_S

Begin = Callable[..., Awaitable[Lease]]
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def event(seq: int, type_: EventType = "plan_step_start", run_id: str = "run_1", text: str = "ö") -> Event:
    return Event(
        v=1, seq=seq, ts=NOW.isoformat(), run_id=run_id, thread_id="t", type=type_, data={"text": text}
    )


def rows(stores: Stores) -> list[tuple[int, str, str]]:
    query = "SELECT seq, key, data FROM journal WHERE run_id = 'run_1' ORDER BY seq"
    return stores.database.call("read", lambda c: [tuple(row) for row in c.execute(query)])


def test_an_event_is_kept_with_its_data(stores: Stores, lease: Lease) -> None:
    stores.journal.append(event(1), "start:s1", lease)
    assert rows(stores) == [(1, "start:s1", '{"text":"ö"}')]


def test_a_second_event_of_the_same_key_is_left_out(stores: Stores, lease: Lease) -> None:
    stores.journal.append(event(1, text="first"), "start:s1", lease)
    stores.journal.append(event(2, text="again"), "start:s1", lease)
    assert rows(stores) == [(1, "start:s1", '{"text":"first"}')]


async def test_another_run_may_use_the_same_key(stores: Stores, begin: Begin) -> None:
    stores.journal.append(event(1), "start:s1", await begin())
    stores.journal.append(event(1, run_id="run_2"), "start:s1", await begin("run_2", "thread_2"))
    count = stores.database.call(
        "read", lambda c: int(c.execute("SELECT count(*) FROM journal").fetchone()[0])
    )
    assert count == 2


async def test_the_newest_number_of_a_run_is_known(stores: Stores, lease: Lease) -> None:
    assert await stores.journal.last_seq("run_1") == 0
    for seq in (1, 2, 7):
        stores.journal.append(event(seq), f"key:{seq}", lease)
    await stores.saver.landed(lease)
    assert await stores.journal.last_seq("run_1") == 7
    assert await stores.journal.last_seq("run_2") == 0


async def test_an_event_that_was_only_queued_is_there_when_a_later_write_is(
    stores: Stores, lease: Lease
) -> None:
    for number in range(1, 21):
        stores.journal.append(event(number), f"key:{number}", lease)
    await stores.memories.write(Memory.new("m1", "a later write", [], NOW), "acme", "run_1")
    with opened_store(stores.database.path.parent) as reader:
        assert tuple(reader.execute("SELECT count(*) FROM journal").fetchone()) == (20,)
    reader.close()


async def test_what_a_failed_commit_left_unwritten_is_written_with_the_next_event(
    stores: Stores, lease: Lease
) -> None:
    def breaks(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT * FROM nothing")

    held_up = threading.Event()
    stores.database.submit("wait", lambda _: held_up.wait(30))
    stores.journal.append(event(1), "start:s1", lease)
    failing = stores.database.submit("break", breaks)  # in one transaction with the event
    held_up.set()
    with pytest.raises(StoreFailed):
        failing.result()
    stores.journal.append(event(2), "start:s2", lease)
    assert [seq for seq, *_ in rows(stores)] == [1, 2]


async def test_an_owner_that_was_taken_over_adds_nothing(
    stores: Stores, lease: Lease, make_run: Callable[..., Run]
) -> None:
    await stores.leases.take_over(make_run())
    stores.journal.append(event(1), "start:s1", lease)
    assert rows(stores) == []


async def put(stores: Stores, lease: Lease) -> None:
    """Write an empty checkpoint of a run."""
    place = {"thread_id": lease.thread_id, "checkpoint_ns": "", LEASE_KEY: lease}
    await stores.saver.aput({"configurable": place}, empty_checkpoint(), {}, {})
    await stores.saver.landed(lease)


async def checkpoints(stores: Stores) -> int:
    """Count what is committed, past what waits in this process."""
    with closing(opened_store(stores.database.path.parent)) as connection:
        return int(connection.execute("SELECT count(*) FROM checkpoints").fetchone()[0])


async def test_a_checkpoint_waits_for_the_events_before_it(stores: Stores, lease: Lease) -> None:
    held_up = threading.Event()
    stores.database.submit("wait", lambda _: held_up.wait(PATIENCE_S))
    stores.journal.append(event(1), "start:s1", lease)
    writing = [asyncio.create_task(put(stores, lease)) for _ in range(2)]
    await asyncio.sleep(0)
    assert await checkpoints(stores) == 0
    held_up.set()
    await asyncio.gather(*writing)
    assert await checkpoints(stores) == 2
    assert [seq for seq, *_ in rows(stores)] == [1]


async def test_no_checkpoint_follows_events_that_were_left_out(
    stores: Stores, lease: Lease, make_run: Callable[..., Run]
) -> None:
    await put(stores, lease)
    stores.journal.append(event(1), "start:s1", lease)
    await stores.leases.take_over(make_run())
    with pytest.raises(LeaseLost):
        await put(stores, lease)
    assert await checkpoints(stores) == 1
