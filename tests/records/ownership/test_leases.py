"""Leases: a run has one owner, who is not robbed while it lives, and writes nothing once it was."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from planwright.domain.errors import LeaseLost, RunError, RunHeld, StoreFailed
from planwright.domain.lease import Lease
from planwright.extras.postgres.server import server_of
from planwright.records.ownership import leases
from planwright.records.ownership.leases import Leases
from planwright.records.runs import Run
from planwright.records.stores import Stores, open_stores
from planwright.store.migrations import MIGRATIONS
from planwright.store.owners import (
    Owner,
    OwnerLocks,
    Owners,
    is_stopped,
    owner_of,
    this_process,
)
from planwright.store.queued_job import Job
from tests.opened_store import store_url
from tests.patience import PATIENCE_S

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MakeRun = Callable[..., Run]
HOLDER = """
import asyncio, sys
from pathlib import Path
from planwright.records.runs import Run
from planwright.records.records import open_records
records = open_records(Path(sys.argv[1]), url=sys.argv[3])
run = Run.model_validate_json(sys.argv[2])
print(asyncio.run(records.leases.take(run, 3600)).token, flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def holder(stores: Stores, run: Run) -> Iterator[subprocess.Popen[str]]:
    """Start a process that takes a run, wait until it has, and end it."""
    command = [sys.executable, "-c", HOLDER, str(stores.database.path.parent), run.model_dump_json()]
    command.append(store_url())
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        yield process
        process.kill()


def stores_owners(stores: Stores) -> OwnerLocks:
    if url := store_url():
        return server_of(url, MIGRATIONS, PATIENCE_S, None).owners
    return Owners(stores.database.path.parent / "owners")


async def row(stores: Stores) -> Run:
    run = await stores.runs.latest("thread_1")
    assert run is not None
    return run


async def taken(stores: Stores, run: Run) -> Lease:
    """Take the run of a process that was killed: a server needs a moment to see that its session ended."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with contextlib.suppress(RunHeld):
                return await stores.leases.take(run, 60)
            await asyncio.sleep(0.01)


def owned_by(stores: Stores, owner: Owner, until: float) -> None:
    """Let the row say that a run is held by a process."""
    values = (str(owner), until)
    stores.database.call("owner", lambda c: c.execute("UPDATE runs SET owner=?, lease_until=?", values))


async def test_a_run_of_a_living_process_is_refused_by_its_name(stores: Stores, make_run: MakeRun) -> None:
    with holder(stores, make_run()) as process:
        with pytest.raises(RunError, match=rf"(?s)being worked on by process {process.pid} on .*--take-over"):
            await stores.leases.take(make_run(), 60)
        assert stores.leases.is_leased(await row(stores))


async def test_a_stopped_process_is_not_robbed_however_late_it_is(stores: Stores, make_run: MakeRun) -> None:
    with holder(stores, make_run()) as process:
        process.send_signal(signal.SIGSTOP)
        await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        owned_by(stores, owner_of((await row(stores)).owner or ""), 0.001)
        with pytest.raises(RunError, match=r"(?s)which is stopped.*wake it"):
            await stores.leases.take(make_run(), 60)
        assert stores.leases.is_leased(await row(stores))


async def test_a_run_of_a_dead_process_is_taken_with_a_higher_token(
    stores: Stores, make_run: MakeRun
) -> None:
    with holder(stores, make_run()):
        pass
    assert not stores.leases.is_leased(await row(stores))
    assert (await stores.leases.take(make_run(), 60)).token == 2


async def test_a_process_that_nobody_has_waited_for_is_dead(stores: Stores, make_run: MakeRun) -> None:
    with holder(stores, make_run()) as process:
        process.kill()
        await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # still a zombie
        assert (await stores.leases.take(make_run(), 60)).token == 2


async def test_a_pid_that_was_given_away_again_is_none_of_the_owner(
    stores: Stores, make_run: MakeRun
) -> None:
    with holder(stores, make_run()):
        owner = owner_of((await row(stores)).owner or "")
    owned_by(stores, owner._replace(pid=str(os.getppid())), 1e12)
    assert (await stores.leases.take(make_run(), 60)).token == 2


async def test_an_owner_in_another_container_is_seen_by_its_lock(stores: Stores, make_run: MakeRun) -> None:
    with holder(stores, make_run()):
        owner = owner_of((await row(stores)).owner or "")
        owned_by(stores, owner._replace(namespace="4026530000", pid="1"), 0.001)
        with pytest.raises(RunError, match="being worked on by process 1"):
            await stores.leases.take(make_run(), 60)
    assert (await taken(stores, make_run())).token == 2


async def test_an_owner_whose_lock_cannot_be_looked_at_holds_its_run_as_long_as_it_reports(
    stores: Stores, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, owners = [1000.0], stores_owners(stores)
    here = Leases(stores.database, owners, lambda: now[0])
    with holder(stores, make_run()):
        owned_by(stores, owner_of((await row(stores)).owner or ""), 1010.0)
        monkeypatch.setattr(owners, "life_of", lambda _: "unknown")
        with pytest.raises(RunError, match=r"(?s)nobody here can tell .* the run is free in 10 s"):
            await here.take(make_run(), 60)
        assert here.is_leased(await row(stores))
        now[0] = 1010.5
        assert not here.is_leased(await row(stores))
        assert (await here.take(make_run(), 60)).token == 2
    here.close()


@pytest.mark.sqlite
async def test_a_process_that_ends_leaves_its_run_free_and_no_file(stores: Stores, make_run: MakeRun) -> None:
    other = open_stores(stores.database.path.parent)
    lease = await other.leases.take(make_run(), 60)
    other.close()
    assert stores_owners(stores).life_of(lease.owner) == "dead"
    assert list((stores.database.path.parent / "owners").iterdir()) == []


async def test_a_second_worker_of_the_same_process_is_refused(
    stores: Stores, make_run: MakeRun, lease: Lease
) -> None:
    with closing(Leases(stores.database, stores_owners(stores))) as second:
        for workers in (stores.leases, second):
            with pytest.raises(RunError, match="being worked on"):
                await workers.take(make_run(), 60)


async def test_a_released_run_can_be_taken(stores: Stores, make_run: MakeRun, lease: Lease) -> None:
    await stores.leases.release(lease)
    assert (await stores.leases.take(make_run(), 60)).token == lease.token + 1


async def test_tokens_rise_from_run_to_run_of_a_thread(stores: Stores, make_run: MakeRun) -> None:
    tokens = []
    for name in ("run_1", "run_2", "run_3"):
        lease = await stores.leases.take(make_run(name), 60)
        stores.runs.end(lease, "completed", "", NOW)
        tokens.append(lease.token)
    assert tokens == [1, 2, 3]


async def test_an_owner_that_was_taken_over_can_write_nothing(
    stores: Stores, make_run: MakeRun, lease: Lease
) -> None:
    assert (await stores.leases.take_over(make_run()))[0] == owner_of(lease.owner).label
    new = await stores.leases.take(make_run(), 60)
    with pytest.raises(LeaseLost, match="taken over by another process"):
        await stores.runs.set_status(lease, "waiting")
    stores.runs.end(lease, "failed", "", NOW)
    stores.runs.set_title(lease, "mine")
    stores.own_parts.keep(lease, ["a.b"])
    await stores.leases.release(lease, "storage")
    stores.work_times.keep(lease, 5)
    held = await row(stores)
    assert (held.status, held.lease_token, held.owner) == ("running", new.token, new.owner)
    assert held.lease_until > 0
    assert await stores.work_times.of("run_1") == 0
    assert not await stores.runs.has_title("thread_1")
    assert not await stores.own_parts.needed("run_1")


async def test_a_run_that_has_ended_is_not_taken_over(
    stores: Stores, make_run: MakeRun, lease: Lease
) -> None:
    stores.runs.end(lease, "completed", "", NOW)
    with pytest.raises(RunError, match="run_1 has ended"):
        await stores.leases.take_over(make_run())


async def test_the_owner_reports_again_after_the_clock_of_the_store_has_failed(
    stores: Stores, make_run: MakeRun
) -> None:
    readings, again = 0, threading.Event()

    def clock() -> float:
        nonlocal readings
        readings += 1
        if readings == 2:  # the first report
            raise StoreFailed("the server is gone", "start it")
        if readings > 2:
            again.set()
        return 1000.0

    leases = Leases(stores.database, Owners(stores.database.path.parent / "owners"), clock)
    try:
        await leases.take(make_run(), 0.03)
        assert await asyncio.to_thread(again.wait, PATIENCE_S)
    finally:
        leases.close()


async def test_the_owner_reports_while_its_event_loop_is_blocked(stores: Stores, make_run: MakeRun) -> None:
    now, reported = [1000.0], threading.Event()
    here = Leases(stores.database, stores_owners(stores), lambda: now[0])
    await here.take(make_run(), 0.3)
    now[0] = 2000.0

    def wait_for_a_report() -> None:
        while (
            stores.database.call("read", lambda c: c.execute("SELECT lease_until FROM runs").fetchone()[0])
            < 2000
        ):
            reported.wait(0.01)

    wait_for_a_report()  # on the event loop's own thread: nothing else runs on it meanwhile
    here.close()


async def test_a_release_that_the_store_did_not_take_is_made_when_it_is_back(
    stores: Stores, make_run: MakeRun, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RETRY_S", 0.01)
    blocked = asyncio.Event()
    run = stores.database.run

    async def fails(*_: object) -> object:
        blocked.set()
        raise StoreFailed("the disk is full")

    monkeypatch.setattr(stores.database, "run", fails)
    await stores.leases.release(lease, "storage")
    assert blocked.is_set()
    monkeypatch.setattr(stores.database, "run", run)
    while (released := await row(stores)).lease_until:  # noqa: ASYNC110 - another thread writes it
        await asyncio.sleep(0.01)
    assert (released.status, released.paused_for) == ("paused", "storage")
    assert (await stores.leases.take(make_run(), 60)).token == 2


async def test_what_a_dead_owner_had_reserved_counts_in_full(stores: Stores, make_run: MakeRun) -> None:
    with holder(stores, make_run()):
        insert = (
            "INSERT INTO usage (id, tenant, run_id, provider, kind, tokens, calls, settled, expires_at, at)"
            " VALUES (?, 'acme', 'run_1', 'p', 'model', 5, 0, ?, 1e12, '2026')"
        )
        stores.database.call("usage", lambda c: c.executemany(insert, [("held", 0), ("spent", 1)]))
    await stores.leases.take(make_run(), 60)
    query = "SELECT id, tokens, settled FROM usage ORDER BY id"
    left = stores.database.call("read", lambda c: [tuple(row) for row in c.execute(query)])
    assert left == [("held", 5, 1), ("spent", 5, 1)]


@pytest.mark.sqlite
def test_an_owner_is_read_as_it_was_written_also_from_older_stores(tmp_path: Path) -> None:
    owners = Owners(tmp_path / "owners")
    me = owners.me()
    assert owner_of(str(me)) == me
    assert (owners.life_of(str(me)), is_stopped(me)) == ("alive", False)
    assert owners.life_of(f"{me.pid}:{me.started}:0123abcd") == "alive"
    assert owners.life_of(f"{me.pid}:1:0123abcd") == "dead"
    assert Owners(tmp_path / "elsewhere").life_of(str(this_process())) == "dead"
    owners.close()


@pytest.mark.parametrize("committed", [True, False], ids=["committed all the same", "not committed"])
async def test_a_lease_whose_commit_failed_is_held_by_nobody(
    stores: Stores, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    """An error of a commit does not say that nothing was written."""
    monkeypatch.setattr(leases, "RETRY_S", 0.01)
    other = Leases(stores.database, stores_owners(stores))
    await stores.leases.release(await stores.leases.take(make_run(), 60))
    run = stores.database.run

    async def fails(name: str, job: Job[object]) -> object:
        with contextlib.suppress(RuntimeError):
            await run(name, job if committed else lambda connection: not_written(job(connection)))
        raise StoreFailed("disk I/O error")

    def not_written(_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(stores.database, "run", fails)
    with pytest.raises(StoreFailed):
        await stores.leases.take(make_run(), 60)
    monkeypatch.setattr(stores.database, "run", run)
    read = await row(stores)  # the late release may come between this and the next line
    assert not stores.leases.is_leased(read) or not (await row(stores)).lease_until
    while (await row(stores)).lease_until:  # noqa: ASYNC110 - another thread writes it
        await asyncio.sleep(0.01)
    theirs = await other.take(make_run(), 60)
    while stores.leases._released:  # noqa: ASYNC110 - the late release changes nothing of theirs
        await asyncio.sleep(0.01)
    assert (await row(stores)).lease_until
    await other.check(theirs)
    other.close()


async def test_the_process_whose_commit_failed_takes_its_run_again_at_once(
    stores: Stores, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stores.database.run

    async def fails(name: str, job: Job[object]) -> object:
        await run(name, job)
        raise StoreFailed("disk I/O error")

    monkeypatch.setattr(stores.database, "run", fails)
    with pytest.raises(StoreFailed):
        await stores.leases.take(make_run(), 60)
    monkeypatch.setattr(stores.database, "run", run)
    again = await stores.leases.take(make_run(), 60)
    assert again.token == 2
    await stores.leases.check(again)
