"""The queue: who may go on with what."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from planwright.domain.errors import QueueFull
from planwright.records.queue.queue import MOST_FREE, STORAGE, Term
from planwright.records.runs import Run
from planwright.records.stores import Stores
from tests.turned_clock import Machine

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
GATE = (
    "INSERT INTO gates (gate_id, thread_id, run_id, tenant, kind, shown_hash, shown, requested_at,"
    " expires_at, status, closes_s) VALUES ('g', 'thread_1', 'run_1', 'acme', 'plan', '', '{}', '', '', ?, ?)"
)


async def queue(stores: Stores, run: Run, ttl_s: float = 3600, capacity: int = 100) -> Run:
    queued = run.model_copy(update={"status": "queued"})
    await stores.queue.add(queued, Term(ttl_s), [], {}, capacity)
    return queued


async def runnable(stores: Stores) -> list[str]:
    return [run.run_id for run in await stores.queue.runnable()]


async def change(stores: Stores, query: str, *values: object) -> None:
    await stores.database.run("test", lambda c: c.execute(query, values).rowcount)


async def test_the_oldest_comes_first(stores: Stores, make_run: Callable[..., Run]) -> None:
    for number in (2, 1, 3):
        await queue(stores, make_run(f"run_{number}", f"thread_{number}"))
    assert await runnable(stores) == ["run_2", "run_1", "run_3"]


@pytest.mark.parametrize(
    ("status", "reason", "gate", "expected"),
    [
        ("queued", None, "", True),
        ("running", None, "", True),
        ("paused", "paused by ann", "", False),
        ("paused", STORAGE, "", True),
        ("waiting", None, "open", False),
        ("waiting", None, "late", True),
        ("waiting", None, "approved", True),
    ],
)
async def test_which_states_are_gone_on_with(
    stores: Stores, make_run: Callable[..., Run], status: str, reason: str | None, gate: str, expected: bool
) -> None:
    await queue(stores, make_run())
    await change(stores, "UPDATE runs SET status = ?, paused_for = ?", status, reason)
    if gate:
        closes_s = stores.time.counted_s() + (-3600 if gate == "late" else 3600)
        await change(stores, GATE, "open" if gate == "late" else gate, closes_s)
    assert await runnable(stores) == (["run_1"] if expected else [])


async def test_whose_end_was_asked_for_is_led_there_even_from_an_open_gate(
    stores: Stores, make_run: Callable[..., Run]
) -> None:
    await queue(stores, make_run())
    await change(stores, "UPDATE runs SET status = 'paused', paused_for = 'ann'")
    await stores.runs.cancel("run_1", "ann", AT)
    assert await runnable(stores) == ["run_1"]


async def test_only_what_was_queued_is_taken_up(stores: Stores, make_run: Callable[..., Run]) -> None:
    await stores.leases.take(make_run(), 60)
    assert await runnable(stores) == []


async def test_of_many_that_nobody_holds_the_first_are_listed_and_all_that_are_held(
    stores: Stores, make_run: Callable[..., Run]
) -> None:
    ids = [f"run_{number}" for number in range(MOST_FREE + 5)]
    for number, run_id in enumerate(ids):
        await queue(stores, make_run(run_id, f"thread_{number}"), capacity=1000)
    held = (ids[0], ids[-1])
    await change(stores, "UPDATE runs SET status = 'running', lease_until = 1 WHERE run_id IN (?, ?)", *held)
    assert await runnable(stores) == [*ids[: MOST_FREE + 1], ids[-1]]


async def test_a_full_queue_takes_nothing(stores: Stores, make_run: Callable[..., Run]) -> None:
    await queue(stores, make_run(), capacity=1)
    with pytest.raises(QueueFull):
        await queue(stores, make_run("run_2", "thread_2"), capacity=1)
    assert await runnable(stores) == ["run_1"]


async def test_time_is_up_by_the_time_that_goes_by(
    timed: Stores, machine: Machine, make_run: Callable[..., Run]
) -> None:
    await queue(timed, make_run(), ttl_s=60)
    machine.pass_by(seconds=59)
    machine.turn(days=7)
    assert (await timed.queue.expired(), await timed.queue.standing("run_1")) == ([], "in time")
    machine.pass_by(seconds=2)
    assert [run.run_id for run in await timed.queue.expired()] == ["run_1"]
    assert await timed.queue.standing("run_1") == "late"
    await timed.runs.cancel("run_1", "its time", AT, "expired")
    assert await timed.queue.expired() == []


async def test_a_break_is_counted_once_a_lease(stores: Stores, make_run: Callable[..., Run]) -> None:
    run = await queue(stores, make_run())
    for token in (1, 1, 2):
        await stores.queue.count_break(run.model_copy(update={"lease_token": token}))
    session = await stores.sessions.of("run_1")
    assert session is not None
    assert session.breaks == 2
