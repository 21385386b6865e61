"""A time of a schedule is taken with its run, by one worker, and left out while its last run goes on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from planwright.domain.errors import QueueFull, RunError
from planwright.records.queue.queue import Term
from planwright.records.queue.schedule_runs import ScheduledTime
from planwright.records.runs import Run
from planwright.records.stores import Stores
from planwright.store.time_marks import LOOK_S, SETTLE_S
from tests.turned_clock import Machine

DUE = datetime(2026, 11, 24, 7, tzinfo=UTC)
MakeRun = Callable[..., Run]


def at(hours: int) -> ScheduledTime:
    return ScheduledTime("daily", DUE + timedelta(hours=hours))


async def is_free(stores: Stores, hours: int, *, kept_before: bool = False) -> bool:
    return await stores.schedule_runs.is_free(at(hours), "acme", kept_before=kept_before)


async def queue(stores: Stores, make_run: MakeRun, hours: int, capacity: int = 10) -> None:
    names = {"run_id": f"run_{hours}", "thread_id": f"thread_{hours}", "status": "queued"}
    run = make_run().model_copy(update=names)
    await stores.queue.add(run, Term(60, at(hours)), [], {}, capacity)


async def times(stores: Stores) -> list[tuple[str, str | None]]:
    query = "SELECT substr(due, 12, 5), run_id FROM schedule_runs ORDER BY due"
    return await stores.database.read(lambda c: [(row[0], row[1]) for row in c.execute(query)])


async def end(stores: Stores, run_id: str) -> None:
    query = "UPDATE runs SET ended_at = 'now' WHERE run_id = ?"
    await stores.database.run("test", lambda c: c.execute(query, (run_id,)).rowcount)


async def test_a_time_is_taken_once_and_none_before_it(stores: Stores, make_run: MakeRun) -> None:
    assert await is_free(stores, 1)
    await queue(stores, make_run, 1)
    await end(stores, "run_1")
    for hours in (1, 0):
        assert not await is_free(stores, hours)
        with pytest.raises(RunError, match="another worker has queued daily"):
            await queue(stores, make_run, hours)
    assert await is_free(stores, 2)
    assert await times(stores) == [("08:00", "run_1")]


async def test_a_time_whose_run_was_not_queued_is_free(stores: Stores, make_run: MakeRun) -> None:
    with pytest.raises(QueueFull):
        await queue(stores, make_run, 1, capacity=0)
    assert await is_free(stores, 1)  # as for the next worker, where one dies before it has queued a run
    await stores.schedule_runs.leave_out(at(1), "acme")
    assert not await is_free(stores, 1)


async def test_what_was_missed_is_made_up_for_only_where_the_schedule_was_kept_before(
    stores: Stores, make_run: MakeRun
) -> None:
    assert not await is_free(stores, 0, kept_before=True)
    await queue(stores, make_run, 1)
    await end(stores, "run_1")
    assert await is_free(stores, 2, kept_before=True)


async def believe(stores: Stores, machine: Machine) -> None:
    """Let the clock stand where it is until it is believed."""
    for seconds in (LOOK_S, SETTLE_S):
        machine.pass_by(seconds=seconds)
        await stores.time.look()


async def test_a_time_that_a_wrong_clock_took_keeps_no_other_and_comes_again(
    timed: Stores, machine: Machine, make_run: MakeRun
) -> None:
    later = 7 * 24
    machine.pass_by(days=3)
    await timed.time.look()
    machine.turn(days=7)
    await believe(timed, machine)
    await queue(timed, make_run, later)
    await end(timed, f"run_{later}")
    machine.turn(days=-7)
    await believe(timed, machine)
    assert await is_free(timed, 1)
    await queue(timed, make_run, 1)
    await end(timed, "run_1")
    assert not await is_free(timed, 1)
    machine.pass_by(days=7)
    assert await is_free(timed, later)


async def test_a_time_that_comes_again_by_a_clock_that_is_set_right_is_not_done_twice(
    timed: Stores, machine: Machine, make_run: MakeRun
) -> None:
    machine.pass_by(days=3)
    await queue(timed, make_run, 0)
    await end(timed, "run_0")
    machine.turn(days=-7)
    await believe(timed, machine)
    assert await is_free(timed, -6 * 24)
    machine.turn(days=7)
    await believe(timed, machine)
    assert not await is_free(timed, 0)


async def test_a_time_is_left_out_while_the_last_run_has_not_ended(stores: Stores, make_run: MakeRun) -> None:
    await queue(stores, make_run, 0)
    assert not await is_free(stores, 1)
    await end(stores, "run_0")
    assert not await is_free(stores, 1)
    assert await is_free(stores, 2)
    assert await times(stores) == [("07:00", "run_0"), ("08:00", None)]
