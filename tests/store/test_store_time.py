"""One time for all processes of a store, on record, in the log, and in what people are shown."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from planwright.domain.clock import Timer, utc_now
from planwright.records.consent.gate import Gate
from planwright.records.queue.queue import Term
from planwright.records.runs import Run
from planwright.records.stores import Stores, open_stores
from planwright.store.store_time import TERM_OF_SESSION, closes_of, time_on_record, trouble_of
from planwright.store.time_marks import (
    APART_S,
    JOIN_S,
    LOOK_S,
    SETTLE_S,
    TICK_S,
    TimeMark,
)
from tests.opened_store import store_url
from tests.patience import PATIENCE_S
from tests.turned_clock import NOON, Machine

WEEK = timedelta(days=7)


def opened(folder: Path, machine: Machine) -> Stores:
    """Open the store of a folder in a process that begins now."""
    return open_stores(folder, clock=machine.clock, timer=machine.timer(), url=store_url())


@pytest.fixture
def other(timed: Stores, machine: Machine) -> Iterator[Stores]:
    """The same store, as another process of the machine opens it."""
    with closing(opened(timed.database.path.parent, machine)) as stores:
        yield stores


async def marks(stores: Stores) -> list[tuple[float, float]]:
    query = "SELECT counted_s, ahead_s FROM store_time"
    return await stores.database.read(lambda c: [(row[0], row[1]) for row in c.execute(query)])


async def begin(stores: Stores) -> TimeMark:
    """Look for the first time, and let that be written: it rides."""
    mark = await stores.time.look()
    await stores.database.run("test", lambda _: None)
    return mark


async def stand(stores: Stores, machine: Machine) -> None:
    for seconds in (LOOK_S, SETTLE_S):
        machine.pass_by(seconds=seconds)
        await stores.time.look()


async def test_a_process_that_begins_while_the_clock_is_off_has_the_time_of_the_others(
    timed: Stores, other: Stores, machine: Machine
) -> None:
    await begin(timed)
    machine.turn(days=7)
    machine.pass_by(minutes=1)
    for stores in (timed, other):
        await stores.time.look()
    assert [stores.time.now() for stores in (timed, other)] == [NOON + timedelta(minutes=1)] * 2
    assert other.time.latest() == NOON + timedelta(minutes=1) + WEEK
    assert timed.time.counted_s() == other.time.counted_s()


async def test_what_one_process_believes_all_do_at_their_next_look(
    timed: Stores, other: Stores, machine: Machine
) -> None:
    for stores in (timed, other):
        await begin(stores)
    machine.turn(days=-7)
    await stand(timed, machine)
    assert timed.time.now() == machine.clock()
    assert other.time.now() == machine.clock() + WEEK
    await other.time.look()
    assert other.time.now() == machine.clock()


async def test_a_mark_goes_on_record_once_a_minute_and_not_at_every_look(
    timed: Stores, machine: Machine
) -> None:
    first = (await timed.time.look()).counted_s
    for seconds, on_record in ((0, 0), (TICK_S - LOOK_S, 0), (LOOK_S, TICK_S), (LOOK_S, TICK_S)):
        machine.pass_by(seconds=seconds)
        await timed.time.look()
        await timed.database.run("test", lambda _: None)
        assert await marks(timed) == [(first + on_record, 0)]


async def test_a_clock_that_is_not_believed_is_said_once_and_so_is_that_it_is(
    timed: Stores, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    await begin(timed)
    machine.turn(days=7)
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            machine.pass_by(seconds=LOOK_S)
            await timed.time.look()
        machine.pass_by(seconds=SETTLE_S)
        await timed.time.look()
    assert [record.getMessage() for record in caplog.records] == [
        "the clock is 7 days, 0:00:00 ahead of the time of the store, 2026-11-21 12:00:10 UTC, and is not"
        " believed; set it right; if it stands, days and schedules go by it from 12:10:10 UTC on",
        "the time of the store is set forward by 7 days, 0:00:00, to 2026-11-28 12:10:50 UTC; what is open"
        " keeps the time it has left",
    ]
    assert {record.levelname for record in caplog.records} == {"WARNING"}


async def test_a_correction_of_seconds_is_a_line_and_no_warning(
    timed: Stores, machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    await begin(timed)
    machine.turn(seconds=5)
    with caplog.at_level(logging.INFO):
        await stand(timed, machine)
    assert [
        (record.levelname, "set forward by 0:00:05" in record.getMessage()) for record in caplog.records
    ] == [("INFO", True)]


async def test_the_time_of_a_session_and_of_a_gate_begins_when_it_is_written_down(
    timed: Stores, machine: Machine, make_run: Callable[..., Run]
) -> None:
    """The machine sleeps between the look at the time and the commit, as a laptop does that is shut."""
    await begin(timed)
    lease, go_on = await timed.leases.take(make_run(), 7200), threading.Event()
    queued = make_run("run_2", "thread_2").model_copy(update={"status": "queued"})
    gate = Gate(
        gate_id="gate_a",
        thread_id="thread_1",
        run_id="run_1",
        tenant="acme",
        kind="step",
        step_uid="step_1",
        shown_hash="a" * 64,
        card={},
        requested_at=NOON,
        expires_at=NOON + timedelta(seconds=60),
        status="open",
    )

    def sleep(_: sqlite3.Connection) -> None:
        assert go_on.wait(PATIENCE_S)
        machine.pass_by(hours=1)

    async def wake() -> None:
        go_on.set()

    await asyncio.gather(
        timed.database.run("sleep", sleep),
        timed.gates.open(gate, lease),
        timed.queue.add(queued, Term(60), [], {}, 10),
        wake(),
    )
    closes_s = timed.time.counted_s() + 60
    opened = "SELECT closes_s FROM gates UNION ALL SELECT closes_s FROM sessions"
    assert await timed.database.read(lambda c: [row[0] for row in c.execute(opened)]) == [closes_s] * 2


async def test_after_the_machine_was_off_it_is_said_for_how_long_and_what_is_open_closes_sooner(
    timed: Stores, machine: Machine, make_run: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    run = make_run().model_copy(update={"status": "queued"})
    await timed.queue.add(run, Term(30 * 86_400), [], {}, 10)
    shown = await closes(timed)
    machine.start_again(days=7)
    with closing(opened(timed.database.path.parent, machine)) as after, caplog.at_level(logging.WARNING):
        assert await after.time.look()
        trouble = trouble_of(after.time.mark, machine.clock)
        assert trouble is not None
        assert trouble[0].startswith(
            "by its clock this machine, or whoever used the store, was off for 6 days"
        )
        await stand(after, machine)
        session = await after.sessions.of("run_1")
        assert session is not None
        assert abs(session.expires_at - NOON - timedelta(days=30)) < timedelta(seconds=1)  # as it was shown
        left = await closes(after) - after.time.counted_s()
        assert abs(left - timedelta(days=23).total_seconds()) < SETTLE_S + LOOK_S + 1
        assert await closes(after) < shown
        assert trouble_of(after.time.mark, machine.clock) is None
    assert "was off for 6 days, 23:58:50: what was open closes sooner by that" in caplog.text


async def closes(stores: Stores) -> float:
    return await stores.database.read(lambda c: closes_of(c.execute(TERM_OF_SESSION, ("run_1",)).fetchone()))


def test_a_clock_beside_that_of_a_server_is_named_as_such() -> None:
    mark = TimeMark("boot 1", 5, NOON.timestamp(), 0)
    assert trouble_of(mark, lambda: NOON) is None
    trouble = trouble_of(mark, lambda: NOON - WEEK)
    assert trouble is not None
    assert trouble[0].startswith("the clock of this machine is 7 days, 0:00:00 behind that of the server")


async def test_a_start_that_took_a_minute_is_none(timed: Stores, machine: Machine) -> None:
    before = await begin(timed)
    machine.start_again(seconds=JOIN_S - 1)
    with closing(opened(timed.database.path.parent, machine)) as after:
        now = await after.time.look()
    assert (now.was_off, now.counted_s - before.counted_s) == (False, JOIN_S - 1)


async def test_where_a_boot_has_no_name_each_process_goes_by_the_clock(tmp_path: Path) -> None:
    machine = Machine()
    for days in (0, 7, -1):
        machine.turn(days=days)
        with closing(open_stores(tmp_path, clock=machine.clock)) as stores:
            await stores.time.look()
            assert stores.time.now() == machine.clock()


def test_who_only_looks_at_a_store_reads_the_time_and_writes_nothing() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        mark = time_on_record(connection)  # of a program from before there was any
        assert abs(mark.now - utc_now()) < timedelta(seconds=1)
        assert trouble_of(mark) is None


async def test_nothing_is_on_record_before_the_store_was_looked_at(timed: Stores, machine: Machine) -> None:
    assert timed.time.now() == timed.time.latest() == machine.clock()
    assert timed.time.mark.now == machine.clock()


async def test_what_another_host_opened_is_not_ended_by_the_count_of_this_one(
    timed: Stores, machine: Machine
) -> None:
    host = Timer(machine.timer().seconds, "another host")
    with closing(
        open_stores(timed.database.path.parent, clock=machine.clock, timer=host, url=store_url())
    ) as elsewhere:
        await begin(timed)
        assert (await timed.time.look()).apart_s == 0
        await begin(elsewhere)
        for _ in range(2):
            machine.pass_by(seconds=LOOK_S)
            for stores in (timed, elsewhere):
                await begin(stores)
        for stores in (timed, elsewhere):
            mark = stores.time.mark
            assert not mark.is_over(mark.counted_s - APART_S / 2)
            assert mark.is_over(mark.counted_s - APART_S)
