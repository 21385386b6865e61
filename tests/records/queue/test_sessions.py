"""Sessions as operators see them: which states may follow which, and what is refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from planwright.domain.errors import LeaseLost, RunError
from planwright.domain.lease import Lease
from planwright.domain.results import NEXT, TERMINAL, RunStatus
from planwright.records.queue.queue import Term
from planwright.records.runs import Run, move
from planwright.records.stores import Stores

AT = datetime(2026, 11, 24, 12, tzinfo=UTC)
QueueRun = Callable[..., Awaitable[Run]]


@pytest.fixture
def queued(stores: Stores, make_run: Callable[..., Run]) -> QueueRun:
    """Queue a run that expires in an hour."""

    async def queue(run_id: str = "run_1", thread_id: str = "thread_1") -> Run:
        run = make_run(run_id, thread_id).model_copy(update={"status": "queued"})
        await stores.queue.add(run, Term(3600), [], {}, 100)
        return run

    return queue


async def status_of(stores: Stores, run_id: str = "run_1") -> str:
    run = await stores.runs.read(run_id)
    assert run is not None
    return run.status


@pytest.mark.sampled(40)
@pytest.mark.parametrize("after", [*NEXT, *sorted(TERMINAL)])
@pytest.mark.parametrize("before", [*NEXT, *sorted(TERMINAL)])
async def test_a_run_becomes_only_what_its_state_allows(
    stores: Stores, queued: QueueRun, before: RunStatus, after: RunStatus
) -> None:
    await queued()
    ended = "AT" if before in TERMINAL else None
    await stores.database.run(
        "test", lambda c: c.execute("UPDATE runs SET status=?, ended_at=?", (before, ended)).rowcount
    )
    if before in TERMINAL:
        assert await stores.database.run("move", lambda c: move(c, "run_1", after)) is False
        assert await status_of(stores) == before
    elif after == before or after in NEXT[before]:
        assert await stores.database.run("move", lambda c: move(c, "run_1", after)) is True
        assert await status_of(stores) == after
    else:
        with pytest.raises(RunError, match=f"is {before}, and nothing that is {before} becomes {after}"):
            await stores.database.run("move", lambda c: move(c, "run_1", after))
        assert await status_of(stores) == before


async def test_a_queued_run_is_paused_at_once_and_queued_again(stores: Stores, queued: QueueRun) -> None:
    await queued()
    run = await stores.sessions.pause("thread_1", "ann")
    assert (run.status, run.paused_for) == ("paused", "paused by ann")
    with pytest.raises(RunError, match=r"is paused already \(paused by ann\)"):
        await stores.sessions.pause("run_1", "bob")
    assert (await stores.sessions.resume("run_1", "bob")).status == "queued"
    with pytest.raises(RunError, match="is queued, not paused"):
        await stores.sessions.resume("run_1", "bob")


async def test_who_works_on_a_run_is_asked_to_pause_it(stores: Stores, queued: QueueRun) -> None:
    lease = await stores.leases.take(await queued(), 60)
    await stores.runs.set_status(lease, "running")
    run = await stores.sessions.pause("run_1", "ann")
    assert (run.status, run.pause_by) == ("running", "ann")
    assert (await stores.runs.requests(lease)).pause_by == "ann"


async def test_a_run_that_waits_for_a_person_is_not_paused(stores: Stores, queued: QueueRun) -> None:
    lease = await stores.leases.take(await queued(), 60)
    await stores.runs.set_status(lease, "running")
    await stores.runs.set_status(lease, "waiting")
    with pytest.raises(RunError, match="waits for a decision"):
        await stores.sessions.pause("run_1", "ann")


async def test_what_is_given_adds_up_and_moves_the_end(stores: Stores, queued: QueueRun) -> None:
    await queued()
    before = await stores.sessions.of("run_1")
    await stores.sessions.extend("run_1", {"tokens": 100, "ttl_s": 60}, "ann")
    run = await stores.sessions.extend("run_1", {"tokens": 20}, "bob")
    after = await stores.sessions.of("run_1")
    assert before is not None
    assert after is not None
    assert run.extended == '{"tokens":120,"ttl_s":60}'
    moved_s = (after.expires_at - before.expires_at).total_seconds()
    assert moved_s == pytest.approx(60, abs=0.1)  # clocks are followed meanwhile


async def test_a_run_that_is_no_session_is_neither_queued_nor_given_time(
    stores: Stores, begin: Callable[..., Awaitable[Lease]]
) -> None:
    lease = await begin()
    with pytest.raises(RunError, match="was not begun in the background"):
        await stores.sessions.resume("run_1", "ann")
    with pytest.raises(RunError, match="does not expire"):
        await stores.sessions.extend("run_1", {"ttl_s": 5}, "ann")
    assert (await stores.runs.requests(lease)).extended is None


async def test_nothing_is_asked_of_a_run_that_has_ended(stores: Stores, queued: QueueRun) -> None:
    lease = await stores.leases.take(await queued(), 60)
    await stores.runs.set_status(lease, "running")
    stores.runs.end(lease, "completed", "done", AT)
    await stores.leases.release(lease)
    for ask in (
        stores.sessions.pause("run_1", "ann"),
        stores.sessions.resume("run_1", "ann"),
        stores.sessions.extend("run_1", {"tokens": 1}, "ann"),
    ):
        with pytest.raises(RunError, match="has ended"):
            await ask
    with pytest.raises(RunError, match="there is no run or thread nobody"):
        await stores.sessions.pause("nobody", "ann")


async def test_one_that_has_lost_a_run_cannot_change_its_state(stores: Stores, queued: QueueRun) -> None:
    run = await queued()
    lease = await stores.leases.take(run, 60)
    await stores.leases.take_over(run)
    with pytest.raises(LeaseLost):
        await stores.runs.set_status(lease, "paused", "by the one that was robbed")
    assert await status_of(stores) == "queued"


async def test_only_what_nobody_works_on_and_has_not_ended_is_paused_from_outside(
    stores: Stores, queued: QueueRun
) -> None:
    run = await queued()
    lease = await stores.leases.take(run, 60)
    await stores.sessions.pause_for(run, "a reason")
    assert await status_of(stores) == "queued"
    await stores.runs.set_status(lease, "running")
    await stores.leases.release(lease)
    await stores.sessions.pause_for(run, "a reason")
    assert await status_of(stores) == "paused"
    await stores.sessions.resume("run_1", "ann")
    lease = await stores.leases.take(run, 60)
    await stores.runs.set_status(lease, "running")
    stores.runs.end(lease, "completed", "done", AT)
    await stores.leases.release(lease)
    await stores.sessions.pause_for(run, "a reason")
    assert await status_of(stores) == "completed"
