"""Behind a real PgBouncer a store is opened only where sessions, and the schema asked for, are kept.

As root on Debian `apt-get install pgbouncer` installs it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from planwright.domain.errors import SetupError
from planwright.extras.postgres.server import server_of
from planwright.store.migrations import MIGRATIONS
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed: apt-get install pgbouncer"),
]
Pool = Callable[..., str]
SETTINGS = """
[databases]
planwright = host={folder} port={port} user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {pool_port}
auth_type = any
{more}
"""


@pytest.fixture
def pool(own_server: PostgresServer) -> Iterator[Pool]:
    """Put PgBouncer before a server, and give the address of a store behind it."""
    running: list[subprocess.Popen[bytes]] = []

    def start(**settings: object) -> str:
        assert PROGRAM is not None
        more = "\n".join(f"{name} = {value}" for name, value in settings.items())
        pool_port = own_server.port + 1
        named = {"folder": own_server.folder, "port": own_server.port, "pool_port": pool_port, "more": more}
        file = Path(own_server.folder) / "pgbouncer.ini"
        file.write_text(SETTINGS.format(**named))
        shutil.chown(file, own_server.user)
        user: dict[str, Any] = {"user": own_server.user} if os.getuid() == 0 else {}
        running.append(subprocess.Popen([PROGRAM, "-q", file], stdin=subprocess.DEVNULL, **user))
        url = own_server.url().replace(f"port={own_server.port}", f"port={pool_port}")
        wait_for(str(own_server.folder), pool_port)
        return url

    yield start
    for process in running:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def wait_for(folder: str, port: int) -> None:
    """Wait until PgBouncer answers. Fails when it does not in time."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            psycopg.connect(host=folder, port=port, user="postgres", dbname="planwright").close()
            return
        except psycopg.OperationalError:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def tables(server: PostgresServer) -> set[str]:
    """Name the schemas in which there are tables."""
    query = "SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname !~ '^(pg_|information_schema)'"
    with server.connect() as connection:
        return {row[0] for row in connection.execute(query)}


def put_right(server: PostgresServer) -> None:
    """Let every session of the server work in the schema of the store, however it was opened."""
    with server.connect() as connection:
        connection.execute("ALTER ROLE postgres SET search_path = planwright")


def refused(url: str) -> SetupError:
    """Open a store in each way, and return why it is refused."""
    served = server_of(url, MIGRATIONS, 5, None)
    with pytest.raises(SetupError):
        served.engine.open_checked()
    with pytest.raises(SetupError) as error:
        served.engine.open()
    return error.value


@pytest.mark.parametrize("mode", ["transaction", "session", "statement"])
def test_a_pool_that_leaves_the_schema_out_is_refused_and_no_table_is_made(
    pool: Pool, own_server: PostgresServer, mode: str
) -> None:
    error = refused(pool(pool_mode=mode, ignore_startup_parameters="options, search_path"))
    assert 'asked for the schema planwright, and works in "$user", public' in error.cause
    assert "pool_mode = session" in error.next_step
    assert tables(own_server) == set()


def test_a_pool_that_refuses_options_says_what_to_do(pool: Pool, own_server: PostgresServer) -> None:
    error = refused(pool(pool_mode="session"))
    assert "is behind a pooler" in error.cause
    assert "unsupported startup parameter: options" in error.cause
    assert "and `options`" in error.next_step
    assert tables(own_server) == set()


@pytest.mark.parametrize("turns", [0, 1], ids=["the last used first", "each in turn"])
@pytest.mark.parametrize("others", [0, 1, 3])
def test_a_pool_that_hands_out_transactions_is_refused_where_its_schema_is_the_right_one(
    pool: Pool, own_server: PostgresServer, turns: int, others: int
) -> None:
    put_right(own_server)
    url = pool(
        pool_mode="transaction",
        ignore_startup_parameters="options",
        server_round_robin=turns,
        default_pool_size=8,
    )
    sessions = [psycopg.connect(url, autocommit=True) for _ in range(others)]
    for session in sessions:  # as many sessions of the server are idle in the pool
        session.execute("BEGIN")
    for session in sessions:
        session.execute("COMMIT")
    error = refused(url)
    assert "gives a session to others between two transactions" in error.cause
    assert tables(own_server) == set()
    for session in sessions:
        session.close()


def test_a_pool_that_keeps_sessions_serves_where_the_schema_is_the_right_one(
    pool: Pool, own_server: PostgresServer
) -> None:
    put_right(own_server)
    url = pool(pool_mode="session", ignore_startup_parameters="options")
    server_of(url, MIGRATIONS, 5, None).engine.open().close()
    assert tables(own_server) == {"planwright"}
