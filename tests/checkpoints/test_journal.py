"""The journal: each event once, in order, before what is committed after it."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

from planwright.checkpoints.stores import Stores
from planwright.graph.events import Event, EventType

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def event(seq: int, type_: EventType = "plan_step_start", run_id: str = "run_1", text: str = "ö") -> Event:
    return Event(
        v=1, seq=seq, ts=NOW.isoformat(), run_id=run_id, thread_id="t", type=type_, data={"text": text}
    )


def rows(stores: Stores) -> list[tuple[int, str, str]]:
    query = "SELECT seq, key, data FROM journal WHERE run_id = 'run_1' ORDER BY seq"
    return stores.database.call("read", lambda c: [tuple(row) for row in c.execute(query)])


def test_an_event_is_kept_with_its_data(stores: Stores) -> None:
    stores.journal.append(event(1), "start:s1", "acme")
    assert rows(stores) == [(1, "start:s1", '{"text":"ö"}')]


def test_a_second_event_of_the_same_key_is_left_out(stores: Stores) -> None:
    stores.journal.append(event(1, text="first"), "start:s1", "acme")
    stores.journal.append(event(2, text="again"), "start:s1", "acme")
    assert rows(stores) == [(1, "start:s1", '{"text":"first"}')]


def test_another_run_may_use_the_same_key(stores: Stores) -> None:
    stores.journal.append(event(1), "start:s1", "acme")
    stores.journal.append(event(1, run_id="run_2"), "start:s1", "acme")
    count = stores.database.call(
        "read", lambda c: int(c.execute("SELECT count(*) FROM journal").fetchone()[0])
    )
    assert count == 2


async def test_the_newest_number_of_a_run_is_known(stores: Stores) -> None:
    assert await stores.journal.last_seq("run_1") == 0
    for seq in (1, 2, 7):
        stores.journal.append(event(seq), f"key:{seq}", "acme")
    assert await stores.journal.last_seq("run_1") == 7
    assert await stores.journal.last_seq("run_2") == 0


async def test_an_event_that_was_only_queued_is_there_when_a_later_write_is(stores: Stores) -> None:
    for number in range(1, 21):
        stores.journal.append(event(number), f"key:{number}", "acme")
    await stores.memories.write("m1", "acme", "run_1", "a later write", [], NOW)
    with sqlite3.connect(stores.database.path) as reader:
        assert reader.execute("SELECT count(*) FROM journal").fetchone() == (20,)
    reader.close()
