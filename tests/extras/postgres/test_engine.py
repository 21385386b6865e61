"""A store in PostgreSQL as the scheduler of jobs sees it: lost sessions, refusals, versions, rows."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from planwright.domain.errors import PlanwrightError, SetupError, StoreFailed
from planwright.extras.postgres.server import server_of
from planwright.security.redaction.redactor import Redactor
from planwright.store.database import Database
from planwright.store.migrations import MIGRATIONS
from tests.extras.postgres.conftest import Open
from tests.patience import PATIENCE_S
from tests.postgres_server import PASSWORD, PostgresServer

pytestmark = pytest.mark.long

SECRET = "sk-0123456789abcdef"
ADD = "INSERT INTO own_parts (run_id, tenant, name) VALUES (?, 'acme', ?)"
COUNT = "SELECT count(*) FROM own_parts"
COPY = """
import resource, sys
from planwright.store.blobs import Blobs
from planwright.store.migrations import MIGRATIONS
from planwright.extras.postgres.server import server_of
served = server_of(sys.argv[1], MIGRATIONS, 30, None)
served.engine.open_checked().close()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with served.as_files() as folder:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    for digest in sys.argv[2:]:
        Blobs(folder / "blobs").get_bytes(digest)
"""


def add(name: str) -> Callable[[sqlite3.Connection], None]:
    def job(connection: sqlite3.Connection) -> None:
        connection.execute(ADD, ("run_1", name))

    return job


def sent(name: str) -> Callable[[sqlite3.Connection], None]:
    """Add a name, and look at what the server answers."""

    def job(connection: sqlite3.Connection) -> None:
        assert connection.execute(ADD, ("run_1", name)).rowcount == 1

    return job


def count(connection: sqlite3.Connection) -> int:
    return int(connection.execute(COUNT).fetchone()[0])


def test_a_job_that_fails_undoes_itself_and_no_other(opened: Open) -> None:
    database, begun = opened(), threading.Event()
    database.submit("hold", lambda _: begun.wait(PATIENCE_S))
    good, bad = database.submit("good", add("a")), database.submit("bad", lambda c: (add("b")(c), 1 / 0))
    twice = database.submit("twice", add("a"))
    begun.set()
    good.result()
    assert isinstance(bad.exception(), ZeroDivisionError)
    assert isinstance(twice.exception(), StoreFailed)
    assert database.look(count) == 1


def test_an_idle_session_that_was_lost_is_opened_anew_and_nobody_hears_of_it(
    opened: Open, server: PostgresServer
) -> None:
    database = opened()
    database.call("add", add("a"))
    assert database.look(count) == 1
    for pid in server.backends():
        end(server, pid)
    database.call("add", add("b"))
    for pid in server.backends():
        end(server, pid)
    assert database.look(count) == 2


def test_a_session_that_is_lost_in_a_job_fails_its_batch_and_the_next_goes_on(
    opened: Open, server: PostgresServer
) -> None:
    database = opened()

    def job(connection: sqlite3.Connection) -> None:
        sent("a")(connection)
        for pid in server.backends():
            end(server, pid)
        sent("b")(connection)

    with pytest.raises(StoreFailed, match=r"connection to postgresql://.* was lost") as failed:
        database.call("add", job)
    assert "planwright doctor" in failed.value.next_step
    assert database.look(count) == 0
    database.call("add", add("c"))
    assert database.look(count) == 1


def test_a_commit_of_which_nobody_knows_is_not_made_again(opened: Open, server: PostgresServer) -> None:
    database = opened()
    tries: list[str] = []

    def job(connection: sqlite3.Connection) -> None:
        tries.append("once")
        sent("a")(connection)
        for pid in server.backends():
            end(server, pid)  # the next that is sent is COMMIT

    with pytest.raises(StoreFailed):
        database.call("add", job)
    assert (tries, database.look(count)) == (["once"], 0)


def test_a_server_that_is_killed_and_started_again_has_what_was_committed(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    server = own_server
    patient, hasty = (
        server_of(server.url(), MIGRATIONS, wait_s, None).engine for wait_s in (PATIENCE_S, 0.05)
    )
    database, other = (Database(tmp_path / "x", MIGRATIONS, engine=engine) for engine in (patient, hasty))
    database.call("add", add("a"))
    sessions = server.backends()
    os.kill(sessions[0], signal.SIGKILL)  # the server ends all others, and recovers
    while any(Path(f"/proc/{pid}").exists() for pid in sessions):
        time.sleep(0.01)
    database.call("add", add("b"))
    assert database.look(count) == 2
    other.call("add", add("c"))
    server.stop()
    with pytest.raises(StoreFailed):
        other.call("add", add("lost"))
    server.again()
    database.call("add", add("d"))
    assert database.look(count) == 4
    database.close()
    other.close()


def test_no_two_processes_are_in_a_write_at_once(opened: Open) -> None:
    """Each adds one to what it reads: without the lock, additions get lost."""
    databases = [opened() for _ in range(4)]
    databases[0].call("add", add("0"))
    read = "SELECT CAST(name AS INTEGER) FROM own_parts"

    def job(connection: sqlite3.Connection) -> None:
        number = connection.execute(read).fetchone()[0]
        connection.execute("UPDATE own_parts SET name = ?", (str(number + 1),))

    waiting = [database.submit("count", job) for _ in range(50) for database in databases]
    for future in waiting:
        future.result()
    assert databases[0].look(lambda c: c.execute(read).fetchone()[0]) == 200


@contextmanager
def holding(database: Database, job: Callable[[sqlite3.Connection], object]) -> Iterator[None]:
    """Do a job of a store, and end its write only when this ends."""
    begun, ends = threading.Event(), threading.Event()

    def write(connection: sqlite3.Connection) -> None:
        job(connection)
        begun.set()
        ends.wait(PATIENCE_S)

    written = database.submit("hold", write)
    begun.wait(PATIENCE_S)
    try:
        yield
    finally:
        ends.set()
        written.result()


def test_a_write_sees_what_was_committed_while_it_waited_whatever_level_the_database_has_by_default(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    """Else a process whose run was taken from it meanwhile would go on writing."""
    with own_server.connect() as connection:
        connection.execute("ALTER DATABASE planwright SET default_transaction_isolation = 'repeatable read'")
    engines = (server_of(own_server.url(), MIGRATIONS, PATIENCE_S, None).engine for _ in range(2))
    first, second = (Database(tmp_path / "x", MIGRATIONS, engine=engine) for engine in engines)
    assert second.call("count", count) == 0
    with holding(first, sent("a")):
        waiting = second.submit("count", count)
        own_server.wait_for_waiter()
    assert waiting.result() == 1
    first.close()
    second.close()


def test_who_waits_too_long_for_the_lock_is_told_so(opened: Open) -> None:
    first, second = opened(), opened(busy_timeout_s=0.05)
    second.call("add", add("a"))
    with holding(first, sent("b")), pytest.raises(StoreFailed, match="is locked by another program"):
        second.call("add", add("c"))


def test_a_read_sees_one_moment_and_changes_nothing(opened: Open) -> None:
    database, other = opened(), opened()
    database.call("add", add("a"))

    def twice(connection: sqlite3.Connection) -> tuple[int, int]:
        before = count(connection)
        other.call("add", add("b"))
        return before, count(connection)

    assert database.look(twice) == (1, 1)
    with pytest.raises(StoreFailed, match="read-only"):
        database.look(add("c"), behind=())


def test_a_session_that_was_opened_while_its_database_was_read_only_does_not_stay_so(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    engine = server_of(own_server.url(), MIGRATIONS, PATIENCE_S, None).engine
    engine.open().close()
    with own_server.connect() as connection:
        connection.execute("ALTER DATABASE planwright SET default_transaction_read_only = on")
        database = Database(tmp_path / "x", MIGRATIONS, engine=engine)
        for job in (add("a"), lambda c: c.executemany(ADD, [("run_1", "b"), ("run_1", "c")])):
            with pytest.raises(StoreFailed, match=r"postgresql://.* is read-only"):
                database.call("add", job)
        connection.execute("ALTER DATABASE planwright RESET default_transaction_read_only")
    database.call("add", add("d"))
    assert database.look(count) == 1
    database.close()


def test_no_secret_is_written(opened: Open) -> None:
    database = opened(redactor=Redactor({"KEY": SECRET}))
    database.call("add", add(f"with {SECRET} in it"))
    database.call("add", lambda c: c.executemany(ADD, [("run_2", SECRET), ("run_3", "none")]))
    names = database.look(lambda c: [row["name"] for row in c.execute("SELECT * FROM own_parts")])
    assert len(names) == 3
    assert not any(SECRET in name for name in names)


def test_rows_are_as_those_of_sqlite(opened: Open) -> None:
    database = opened()
    database.call("add", add("a\0b"))

    def job(connection: sqlite3.Connection) -> None:
        row = connection.execute("SELECT * FROM own_parts").fetchone()
        assert row.keys() == ["run_id", "tenant", "name"]
        assert (row[0], row["tenant"], *row[1:]) == ("run_1", "acme", "acme", "a\ufffdb")
        assert dict(row)["run_id"] == "run_1"
        with pytest.raises(IndexError):
            row["nothing"]
        numbers = connection.execute(
            "SELECT rowid, sum(3), 1 = 1, 1.5, NULL FROM own_parts GROUP BY 1"
        ).fetchone()
        assert [*numbers][1:] == [3, 1, 1.5, None]
        assert [type(value) for value in numbers] == [int, int, int, float, type(None)]

    database.look(job)


def test_a_store_of_a_newer_program_is_left_as_it_is(opened: Open, store_url: str) -> None:
    opened().call("add", add("a"))
    older = server_of(store_url, MIGRATIONS[:-1], PATIENCE_S, None).engine
    for open_it in (older.open, older.open_checked):
        with pytest.raises(SetupError, match="written by a newer planwright"):
            open_it()


def test_a_store_gets_the_indexes_it_lacks(store_url: str) -> None:
    lacking = tuple(re.sub(r"CREATE INDEX IF NOT EXISTS audit_seals .*;", "", text) for text in MIGRATIONS)
    query = (
        "SELECT count(*) FROM pg_indexes WHERE indexname = 'audit_seals' AND schemaname = current_schema()"
    )
    counts = []
    for migrations in (lacking, MIGRATIONS, lacking):  # the last is a program of before: it leaves the index
        with closing(server_of(store_url, migrations, PATIENCE_S, None).engine.open()) as session:
            counts.append(session.execute(query).fetchone()[0])
    assert counts == [0, 1, 1]


def test_many_open_a_new_store_at_once(opened: Open) -> None:
    databases, failed = [opened() for _ in range(6)], []

    def open_it(database: Database) -> None:
        try:
            database.call("add", add(str(id(database))))
        except PlanwrightError as error:
            failed.append(error)

    threads = [threading.Thread(target=open_it, args=(database,)) for database in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (failed, databases[0].look(count)) == ([], 6)


@pytest.mark.parametrize(
    ("change", "cause", "next_step"),
    [
        (("planwright?", "nowhere?"), "nowhere.*does not exist", "createdb nowhere"),
        (("port=", "port=1"), "cannot be reached", "start it"),
        (("postgres@", "nobody_here@"), "nobody_here.*does not exist", "mend the user"),
    ],
    ids=["no database", "no server", "no user"],
)
def test_a_store_that_cannot_be_opened_says_why(
    store_url: str, change: tuple[str, str], cause: str, next_step: str
) -> None:
    engine = server_of(store_url.replace(*change), MIGRATIONS, PATIENCE_S, None).engine
    for open_it in (engine.open, engine.open_checked):
        with pytest.raises(PlanwrightError, match=cause) as refused:
            open_it()
        assert next_step in refused.value.next_step


@pytest.mark.parametrize("readable", [(), ("store_version",), ("store_version", "sqlite_master", "runs")])
def test_a_role_that_may_not_read_all_is_told_so(
    own_server: PostgresServer, readable: tuple[str, ...]
) -> None:
    server_of(own_server.url(), MIGRATIONS, PATIENCE_S, None).engine.open().close()
    with own_server.connect() as connection:
        connection.execute("CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA planwright TO reader")
        for table in readable:
            connection.execute(f"GRANT SELECT ON planwright.{table} TO reader")
    served = server_of(own_server.url().replace("postgres@", "reader@"), MIGRATIONS, PATIENCE_S, None)
    with pytest.raises(StoreFailed, match="permission denied for"), served.as_files():
        pass
    if "runs" not in readable:
        with pytest.raises(StoreFailed, match="permission denied for"):
            served.engine.open_checked()


def test_a_store_is_copied_without_all_its_large_contents_in_memory(
    opened: Open, store_url: str, tmp_path: Path
) -> None:
    database, contents = opened(), [bytes([number]) * 4_000_000 for number in range(30)]
    blobs = server_of(store_url, MIGRATIONS, PATIENCE_S, None).blobs(database)
    digests = [blobs.put_bytes(content) for content in contents]
    copied = subprocess.run([sys.executable, "-c", COPY, store_url, *digests], capture_output=True, text=True)
    assert copied.returncode == 0, copied.stderr
    assert int(copied.stdout) < 40_000


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_text_is_refused(own_server: PostgresServer, encoding: str) -> None:
    with own_server.connect() as connection:
        connection.execute(
            f"CREATE DATABASE other ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
    engine = server_of(own_server.url(database="other"), MIGRATIONS, PATIENCE_S, None).engine
    for open_it in (engine.open, engine.open_checked, engine.open_to_read):
        with pytest.raises(SetupError, match=f"holds texts as {encoding}") as refused:
            open_it()
        assert "createdb -E UTF8" in refused.value.next_step


def test_a_password_is_in_no_message(server: PostgresServer) -> None:
    url = f"postgresql://postgres:not-{PASSWORD}@127.0.0.1:{server.port}/planwright"
    with pytest.raises(SetupError, match="refuses the login") as refused:
        server_of(url, MIGRATIONS, PATIENCE_S, None).engine.open()
    assert PASSWORD not in f"{refused.value}{refused.value.__cause__}{refused.value.__context__}"
    with pytest.raises(SetupError, match="no address that PostgreSQL understands") as refused:
        server_of(f"postgresql://postgres:{PASSWORD}@[/planwright", MIGRATIONS, PATIENCE_S, None)
    assert PASSWORD not in str(refused.value)
    right = url.replace("not-", "")
    engine = server_of(right, MIGRATIONS, PATIENCE_S, None).engine
    assert PASSWORD not in engine.label
    engine.open().close()


def end(server: PostgresServer, pid: int) -> None:
    """End a session of the server, and wait until it has gone."""
    with server.connect() as connection:
        connection.execute("SELECT pg_terminate_backend(%s, %s)", (pid, 1000 * PATIENCE_S))


def test_the_schema_is_that_of_the_address(opened: Open, server: PostgresServer, store_url: str) -> None:
    opened().call("add", add("a"))
    schema = store_url.rpartition("%3D")[2]
    with psycopg.connect(server.url()) as other:
        assert other.execute(f"SELECT count(*) FROM {schema}.own_parts").fetchone() == (1,)
