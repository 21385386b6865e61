"""Owners of runs in PostgreSQL: a session and its lock, lost and taken again, and the clock of all."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from planwright.domain.errors import LeaseLost
from planwright.extras.postgres.owners import PostgresOwners
from planwright.extras.postgres.server import Server, server_of
from planwright.records.runs import Run
from planwright.records.stores import Stores, open_stores
from planwright.store.migrations import MIGRATIONS
from planwright.store.owners import Owner, living_sender
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.long

ELSEWHERE = {"host": "elsewhere", "boot": "another"}
HOLDER = """
import sys
from planwright.store.migrations import MIGRATIONS
from planwright.extras.postgres.server import server_of
owners = server_of(sys.argv[1], MIGRATIONS, 30, None).owners
print(owners.me(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def served(store_url: str) -> Iterator[Server]:
    opened = server_of(store_url, MIGRATIONS, PATIENCE_S, None)
    opened.engine.open().close()
    yield opened
    opened.owners.close()


@pytest.fixture
def other(store_url: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that is an owner; its first line names it."""
    command = [sys.executable, "-c", HOLDER, store_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def named(process: subprocess.Popen[str]) -> Owner:
    assert process.stdout is not None
    return Owner(*process.stdout.readline().strip().split(":"))


def as_if_elsewhere(owner: Owner) -> str:
    """Spell an owner as if it were on another machine, where nobody here can look."""
    return str(owner._replace(**ELSEWHERE))


def becomes(life: str, among: PostgresOwners, owner: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while among.life_of(owner) != life:
        assert time.monotonic() < deadline, f"it never was {life}"
        time.sleep(0.01)


def test_an_owner_lives_as_long_as_its_process_wherever_it_is_looked_at_from(
    served: Server, other: subprocess.Popen[str]
) -> None:
    owner = named(other)
    assert [served.owners.life_of(spelled) for spelled in (str(owner), as_if_elsewhere(owner))] == [
        "alive"
    ] * 2
    other.send_signal(signal.SIGSTOP)
    assert served.owners.life_of(str(owner)) == "alive"
    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert served.owners.life_of(str(owner)) == "dead"
    becomes("unknown", served.owners, as_if_elsewhere(owner))


def test_an_owner_whose_session_was_ended_has_its_lock_again_under_the_same_name(
    served: Server, server: PostgresServer, store_url: str
) -> None:
    me = served.owners.me()
    with closing(server_of(store_url, MIGRATIONS, PATIENCE_S, None).owners) as others:
        assert others.life_of(as_if_elsewhere(me)) == "alive"
        for pid in server.backends():
            with server.connect() as connection:
                connection.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))
        becomes("alive", others, as_if_elsewhere(me))
        assert served.owners.me() == me


def test_nobody_is_taken_for_dead_because_the_server_was_started_anew(own_server: PostgresServer) -> None:
    command = [sys.executable, "-c", HOLDER, own_server.url()]
    here = server_of(own_server.url(), MIGRATIONS, PATIENCE_S, None).owners
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        owner = named(process)
        process.send_signal(signal.SIGSTOP)  # it cannot take its lock again
        own_server.stop()
        own_server.again()
        assert [here.life_of(name) for name in (str(owner), as_if_elsewhere(owner))] == ["unknown"] * 2
        process.send_signal(signal.SIGCONT)
        becomes("alive", here, as_if_elsewhere(owner))
        process.kill()
    here.close()


def test_another_agent_of_this_process_is_dead_once_it_is_closed(served: Server, store_url: str) -> None:
    others = server_of(store_url, MIGRATIONS, PATIENCE_S, None).owners
    me = others.me()
    renamed = str(me._replace(host="as-it-was-called"))
    assert [served.owners.life_of(name) for name in (str(me), renamed)] == ["alive"] * 2
    others.close()
    becomes("dead", served.owners, str(me))
    assert served.owners.life_of(renamed) == "dead"


def test_who_began_an_effect_is_looked_up_where_the_locks_are(
    served: Server, other: subprocess.Popen[str]
) -> None:
    owner = named(other)
    with closing(served.engine.open()) as session:
        assert living_sender(session, str(owner)) == f"process {other.pid} on {owner.host}"
        assert living_sender(session, str(owner), mine=str(owner)) == ""
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert living_sender(session, str(owner)) == ""


async def test_a_run_that_was_taken_while_a_session_was_lost_is_fenced(
    store_url: str, tmp_path: Path, server: PostgresServer
) -> None:
    run = Run(
        run_id="run_1", thread_id="thread_1", tenant="acme", status="running", request="do it", messages=[],
        context={}, started_at="2026-11-21T12:00:00+00:00",
    )  # fmt: skip
    first, second = (open_stores(tmp_path / name, url=store_url) for name in ("here", "there"))
    try:
        lease = await first.leases.take(run, 60)
        _, theirs = await second.leases.take_over(run)
        for pid in server.backends():
            with server.connect() as connection:
                connection.execute("SELECT pg_terminate_backend(%s, 10000)", (pid,))
        with pytest.raises(LeaseLost):
            await first.runs.set_status(lease, "waiting")
        await second.runs.set_status(theirs, "waiting")
    finally:
        for stores in (first, second):
            await asyncio.to_thread(stores.close)


def test_large_contents_are_found_by_every_host(store_url: str, tmp_path: Path) -> None:
    opened: list[Stores] = []

    def store(name: str) -> Stores:
        opened.append(open_stores(tmp_path / name, url=store_url))
        return opened[-1]

    text = "long " * 10_000
    digest = store("here").blobs.put(text)
    assert opened[0].blobs.put(text) == digest
    assert store("there").blobs.get(digest) == text
    assert not (tmp_path / "here").exists()
    for stores in opened:
        stores.close()
