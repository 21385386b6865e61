"""A time of a schedule is taken by one worker, and left out while its last run goes on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from planwright.checkpoints.runs import Run
from planwright.checkpoints.sessions.queue import Term
from planwright.checkpoints.stores import Stores

DUE = datetime(2026, 11, 24, 7, tzinfo=UTC)


async def take(stores: Stores, hours: int, *, kept_before: bool = False) -> bool:
    return await stores.schedule_runs.take(
        "daily", "acme", DUE + timedelta(hours=hours), kept_before=kept_before
    )


async def test_a_time_is_taken_once_and_none_before_it(stores: Stores) -> None:
    assert await take(stores, 1)
    assert not await take(stores, 1)
    assert not await take(stores, 0)
    assert await take(stores, 2)


async def test_what_was_missed_is_made_up_for_only_where_the_schedule_was_kept_before(stores: Stores) -> None:
    assert not await take(stores, 0, kept_before=True)
    assert await take(stores, 1)
    assert await take(stores, 2, kept_before=True)


async def test_a_time_is_left_out_while_the_last_run_has_not_ended(
    stores: Stores, make_run: Callable[..., Run]
) -> None:
    assert await take(stores, 0)
    run = make_run().model_copy(update={"status": "queued"})
    await stores.queue.add(run, Term(60, "daily"), [], {}, 10)
    await stores.schedule_runs.note("daily", DUE, "thread_1")
    assert not await take(stores, 1)
    await stores.runs.cancel("run_1", "ann", DUE)
    lease = await stores.leases.take(run, 60)
    stores.runs.end(lease, "cancelled", "", DUE)
    assert await take(stores, 2)
    rows = await stores.database.read(
        lambda c: [tuple(row) for row in c.execute("SELECT due, run_id FROM schedule_runs ORDER BY due")]
    )
    assert [run_id for _, run_id in rows] == ["run_1", None, None]
