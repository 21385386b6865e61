"""A server, or a way to it, that takes what is sent and answers nothing: nobody waits for ever."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from planwright.domain.errors import StoreFailed
from planwright.extras.postgres import engine
from planwright.extras.postgres.server import server_of
from planwright.store.database import Database
from planwright.store.migrations import MIGRATIONS
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.long

ADD = "INSERT INTO own_parts (run_id, tenant, name) VALUES ('run_1', 'acme', ?)"
COUNT = "SELECT count(*) FROM own_parts"
SILENCE_S = 1.0


@pytest.fixture
def stopped(own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Processes of the server that are stopped, and go on after the test."""
    monkeypatch.setattr(engine, "ANSWER_S", SILENCE_S)
    pids: list[int] = []
    yield pids
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def stop_all(server: PostgresServer, stopped: list[int]) -> None:
    """Stop what serves the sessions that there are; the server goes on, and takes new ones."""
    for pid in server.backends():
        os.kill(pid, signal.SIGSTOP)
        stopped.append(pid)


def test_what_was_idle_is_asked_again_on_a_new_session(
    own_server: PostgresServer, stopped: list[int], tmp_path: Path
) -> None:
    served = server_of(own_server.url(), MIGRATIONS, 0.1, None)
    database = Database(tmp_path / "x", MIGRATIONS, engine=served.engine)
    me = served.owners.me()
    database.call("add", lambda c: c.execute(ADD, ("a",)).rowcount)
    assert database.look(lambda c: c.execute(COUNT).fetchone()[0], behind=()) == 1
    stop_all(own_server, stopped)
    database.call("add", lambda c: c.execute(ADD, ("b",)).rowcount)
    assert database.look(lambda c: c.execute(COUNT).fetchone()[0], behind=()) == 2
    assert served.owners.life_of(str(me)) == "alive"
    assert len(stopped) == 3
    database.close()
    served.owners.close()


def test_a_job_that_was_begun_fails_as_where_its_session_is_lost(
    own_server: PostgresServer, stopped: list[int], tmp_path: Path
) -> None:
    served = server_of(own_server.url(), MIGRATIONS, 0.1, None)
    with closing(Database(tmp_path / "x", MIGRATIONS, engine=served.engine)) as database:

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(ADD, ("a",))
            stop_all(own_server, stopped)
            connection.execute(ADD, ("b",))

        with pytest.raises(StoreFailed, match=r"was lost: no answer within 1\.1 s"):
            database.call("add", job)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)  # else it holds the lock of the store
        stopped.clear()


def test_an_answer_that_takes_long_is_waited_for_as_long_as_some_of_it_comes(
    own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "ANSWER_S", SILENCE_S)
    served = server_of(own_server.url(), MIGRATIONS, 0.1, None)
    slow = "SELECT repeat('x', 9000), pg_sleep(0.02) FROM generate_series(1, 100)"
    with closing(served.engine.open()) as session:
        assert len(session.execute(slow).fetchall()) == 100
