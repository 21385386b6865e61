"""The one-writer database: group commit, neighbours, locks, migrations."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from planwright.domain.errors import StoreFailed
from planwright.store.database import Database
from planwright.store.store_errors import store_error
from tests.patience import PATIENCE_S

TABLE = ("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)",)

Insert = Callable[[sqlite3.Connection], None]


def insert(text: str) -> Insert:
    def job(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO notes (text) VALUES (?)", (text,))

    return job


def texts(path: Path) -> list[str]:
    """Read the committed rows, as another program would."""
    with closing(sqlite3.connect(path)) as db:
        return [row[0] for row in db.execute("SELECT text FROM notes ORDER BY id")]


@contextmanager
def held_up(database: Database) -> Iterator[None]:
    """Keep the writer busy inside the block, so that later jobs queue up behind it."""
    entered, leave = threading.Event(), threading.Event()

    def wait(_: sqlite3.Connection) -> None:
        entered.set()
        assert leave.wait(PATIENCE_S)

    blocking = database.submit("wait", wait)
    assert entered.wait(PATIENCE_S)
    try:
        yield
    finally:
        leave.set()
        blocking.result(PATIENCE_S)


@contextmanager
def locked_by_another_process(path: Path) -> Iterator[None]:
    """Hold the write lock of a file in a second process."""
    script = (
        "import sqlite3, sys\n"
        f"db = sqlite3.connect({str(path)!r}, isolation_level=None)\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "notes.db", TABLE, busy_timeout_s=PATIENCE_S)
    yield opened
    opened.close()


def test_jobs_that_wait_are_committed_together(tmp_path: Path) -> None:
    reached: list[str] = []
    database = Database(tmp_path / "notes.db", TABLE, boundary=reached.append)
    with held_up(database):
        futures = [database.submit("note", insert(f"n{n}")) for n in range(50)]
    for future in futures:
        future.result(PATIENCE_S)
    database.close()
    assert len(texts(database.path)) == 50
    assert [name.split(" ")[1] for name in reached] == ["before", "after", "before", "after"]
    assert reached[2].removeprefix("notes: before ").split("+") == ["note"] * 50


def test_jobs_of_many_threads_are_all_kept(database: Database) -> None:
    def write(thread: int) -> None:
        for n in range(25):
            database.call("note", insert(f"{thread}-{n}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert len(set(texts(database.path))) == 200


def test_nobody_hears_of_a_write_before_it_is_committed(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    seen: list[tuple[str, int, bool]] = []
    futures: list[Future[None]] = []

    def look(name: str) -> None:
        if name.endswith(" note"):
            seen.append((name.split(" ")[1], len(texts(path)), futures[0].done()))

    database = Database(path, TABLE, boundary=look)
    with held_up(database):
        futures.append(database.submit("note", insert("a")))
    futures[0].result(PATIENCE_S)
    database.close()
    assert seen == [("before", 0, False), ("after", 1, False)]


@pytest.mark.parametrize(
    ("failure", "heard"),
    [
        (ValueError("no"), ValueError),
        (sqlite3.IntegrityError("no"), StoreFailed),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_failing_job_is_rolled_back_and_its_neighbours_are_kept(
    database: Database, failure: BaseException, heard: type[BaseException]
) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        insert("half a job")(connection)
        raise failure

    with held_up(database):
        before = database.submit("note", insert("before"))
        failing = database.submit("note", fail)
        after = database.submit("note", insert("after"))
    with pytest.raises(heard):
        failing.result(PATIENCE_S)
    before.result(PATIENCE_S)
    after.result(PATIENCE_S)
    assert texts(database.path) == ["before", "after"]


async def test_what_a_cancelled_caller_queued_still_happens_and_the_writer_lives(database: Database) -> None:
    with held_up(database):
        waiting = asyncio.create_task(database.run("note", insert("nobody waits for this")))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    later = database.submit("note", insert("later"))
    await asyncio.to_thread(later.result, 3)
    assert texts(database.path) == ["nobody waits for this", "later"]


def test_later_jobs_never_overtake_earlier_ones(database: Database) -> None:
    with held_up(database):
        futures = [database.submit("note", insert(str(n))) for n in range(30)]
    for future in futures:
        future.result(PATIENCE_S)
    assert texts(database.path) == [str(n) for n in range(30)]


def test_a_job_can_be_awaited_from_two_event_loops_and_called_from_none(database: Database) -> None:
    asyncio.run(database.run("note", insert("first loop")))
    database.call("note", insert("no loop"))
    asyncio.run(database.run("note", insert("second loop")))
    assert texts(database.path) == ["first loop", "no loop", "second loop"]


def test_close_writes_what_is_queued_and_a_later_job_opens_again(database: Database) -> None:
    with held_up(database):
        futures = [database.submit("note", insert(str(n))) for n in range(5)]
        closing_ = threading.Thread(target=database.close)
        closing_.start()
    closing_.join(PATIENCE_S)
    assert all(future.done() for future in futures)
    assert len(texts(database.path)) == 5
    database.call("note", insert("again"))
    assert len(texts(database.path)) == 6


def test_a_lock_of_another_process_names_the_file_and_what_to_do(tmp_path: Path) -> None:
    database = Database(tmp_path / "notes.db", TABLE, busy_timeout_s=0.1)
    database.call("note", insert("before"))
    with locked_by_another_process(database.path), pytest.raises(StoreFailed) as refused:
        database.call("note", insert("while locked"))
    assert refused.value.cause == f"{database.path} is locked by another program"
    assert "close that program" in refused.value.next_step
    database.call("note", insert("after"))
    database.close()
    assert texts(database.path) == ["before", "after"]


def test_a_file_that_is_locked_when_it_is_opened_names_the_file_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    database = Database(path, TABLE, busy_timeout_s=0.1)
    with locked_by_another_process(path), pytest.raises(StoreFailed, match="is locked by another program"):
        database.call("note", insert("while locked"))
    database.call("note", insert("after"))
    database.close()
    assert texts(path) == ["after"]


def test_a_folder_that_cannot_be_made_is_a_setup_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    database = Database(tmp_path / "file" / "notes.db", TABLE)
    with pytest.raises(StoreFailed, match="cannot write to") as refused:
        database.call("note", insert("a"))
    assert "storage.path" in refused.value.next_step


def test_a_file_that_is_no_database_is_a_setup_error(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_bytes(b"this is a letter, not a database" * 50)
    with pytest.raises(StoreFailed, match="is damaged: file is not a database") as refused:
        Database(tmp_path / "notes.db", TABLE).call("note", insert("a"))
    assert str(tmp_path / "notes.db") in refused.value.cause
    assert refused.value.next_step


@pytest.mark.parametrize("round_", range(20))
def test_migrations_run_once_however_many_open_the_file_at_the_same_time(tmp_path: Path, round_: int) -> None:
    migrations = (*TABLE, "INSERT INTO notes (text) VALUES ('migrated')")
    databases = [Database(tmp_path / "notes.db", migrations, busy_timeout_s=PATIENCE_S) for _ in range(6)]
    together = threading.Barrier(6)

    def open_at_once(database: Database) -> int:
        together.wait(PATIENCE_S)
        return database.call("read", lambda c: int(c.execute("SELECT count(*) FROM notes").fetchone()[0]))

    with ThreadPoolExecutor(6) as pool:
        counts = list(pool.map(open_at_once, databases))
    for database in databases:
        database.close()
    assert counts == [1] * 6


def test_an_old_file_gets_only_the_migrations_it_lacks(tmp_path: Path) -> None:
    old = Database(tmp_path / "notes.db", TABLE)
    old.call("note", insert("kept"))
    old.close()
    new = Database(tmp_path / "notes.db", (*TABLE, "ALTER TABLE notes ADD COLUMN tag TEXT DEFAULT 'new'"))
    rows = new.call("read", lambda c: [tuple(r) for r in c.execute("SELECT text, tag FROM notes")])
    new.close()
    assert rows == [("kept", "new")]


def test_an_old_file_gets_the_indexes_it_lacks_and_a_program_that_knows_none_opens_it(tmp_path: Path) -> None:
    index = "CREATE INDEX IF NOT EXISTS notes_text ON notes (text)"
    for text, migrations in (("a", TABLE), ("b", (f"{TABLE[0]};\n{index};\n", *TABLE[1:])), ("c", TABLE)):
        database = Database(tmp_path / "notes.db", migrations)
        database.call("note", insert(text))
        database.close()
    with closing(sqlite3.connect(tmp_path / "notes.db")) as store, store:
        query = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        assert ([*store.execute(query)], texts(tmp_path / "notes.db")) == ([("notes_text",)], ["a", "b", "c"])
        assert store.execute("PRAGMA user_version").fetchone()[0] == len(TABLE)


def test_a_migration_that_fails_changes_nothing_and_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    broken = Database(path, (*TABLE, "CREATE TABLE broken (;"), busy_timeout_s=0.1)
    with pytest.raises(StoreFailed) as refused:
        broken.call("note", insert("a"))
    mended = Database(path, TABLE, busy_timeout_s=0.1)
    mended.call("note", insert("b"))
    mended.close()
    assert texts(path) == ["b"]
    assert str(path) in refused.value.cause


def test_only_what_is_to_outlive_a_loss_of_power_waits_for_the_disk(database: Database) -> None:
    def settings(connection: sqlite3.Connection) -> tuple[str, int]:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        return str(mode), int(connection.execute("PRAGMA synchronous").fetchone()[0])

    async def awaited(*, synced: bool) -> tuple[str, int]:
        return await database.run("intent", settings, synced=synced)

    assert database.call("read", settings) == ("wal", 1)
    assert database.submit("intent", settings, synced=True).result() == ("wal", 2)
    assert [asyncio.run(awaited(synced=synced)) for synced in (False, True)] == [("wal", 1), ("wal", 2)]


@pytest.mark.parametrize(
    ("folder", "cause"),
    [("/proc", "there is no space left"), ("", "cannot be read or written")],
    ids=["nothing free", "some free"],
)
def test_an_error_of_the_disk_is_a_full_one_where_nothing_is_free(
    tmp_path: Path, folder: str, cause: str
) -> None:
    path = Path(folder or tmp_path) / "planwright.db"
    assert cause in store_error(path, sqlite3.OperationalError("disk I/O error")).cause


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[Database, list[str]]]:
    """A database, and the names of what it commits."""
    names: list[str] = []
    database = Database(tmp_path / "notes.db", TABLE, boundary=names.append)
    database.call("open", lambda _: None)
    yield database, names
    database.close()


def test_what_rides_is_committed_with_what_somebody_waits_for(watched: tuple[Database, list[str]]) -> None:
    database, names = watched
    for text in ("a", "b", "c"):
        database.submit("ride", insert(text), rides=True)
    database.call("wait", insert("d"))
    assert texts(database.path) == ["a", "b", "c", "d"]
    assert names[-1].endswith("wait")
    assert (
        len([name for name in names if "before" in name]) < 5
    )  # 2, unless this thread was stopped meanwhile


def test_what_rides_is_committed_after_a_moment(watched: tuple[Database, list[str]]) -> None:
    database, _ = watched
    database.submit("ride", insert("a"), rides=True).result(PATIENCE_S)
    assert texts(database.path) == ["a"]


def test_what_rode_with_a_commit_that_failed_rides_with_the_next(watched: tuple[Database, list[str]]) -> None:
    def breaks(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT * FROM nothing")

    database, _ = watched
    riding = database.submit("ride", insert("a"), rides=True)
    with pytest.raises(StoreFailed):
        database.call("break", breaks)
    database.call("wait", insert("b"))
    assert riding.result(PATIENCE_S) is None
    assert texts(database.path) == ["a", "b"]


def test_what_rides_is_committed_when_the_file_is_closed(watched: tuple[Database, list[str]]) -> None:
    database, _ = watched
    database.submit("ride", insert("a"), rides=True)
    database.close()
    assert texts(database.path) == ["a"]


async def test_a_read_sees_what_was_awaited_and_writes_nothing(watched: tuple[Database, list[str]]) -> None:
    database, names = watched
    await database.run("wait", insert("a"))
    commits = len(names)
    assert await database.read(lambda c: c.execute("SELECT text FROM notes").fetchone()[0]) == "a"
    assert len(names) == commits
    with pytest.raises(StoreFailed):
        await database.read(insert("b"))


def _filled(path: Path) -> Database:
    """Open a store whose pages are free by half, in their middle."""
    database = Database(path, TABLE, busy_timeout_s=PATIENCE_S)
    for n in range(200):
        database.submit("note", insert(f"{n}" + "x" * 4000))
    database.call("note", insert("last"))
    return database


def _delete(share: int) -> Insert:
    def job(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM notes WHERE id % ? = 0", (share,))

    return job


def test_a_store_that_is_closed_gives_free_space_back(tmp_path: Path) -> None:
    database = _filled(tmp_path / "notes.db")
    database.call("delete", _delete(2))
    left = database.look(lambda c: [row[0] for row in c.execute("SELECT text FROM notes ORDER BY id")])
    pages = database.look(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    database.close()
    with closing(sqlite3.connect(database.path)) as db:
        assert db.execute("PRAGMA freelist_count").fetchone()[0] == 0
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert texts(database.path) == left
    assert database.path.stat().st_size < 0.6 * pages * 4096


def test_a_little_free_space_stays_for_the_next_rows(tmp_path: Path) -> None:
    database = _filled(tmp_path / "notes.db")
    database.call("delete", _delete(10))
    database.close()
    with closing(sqlite3.connect(database.path)) as db:
        assert db.execute("PRAGMA freelist_count").fetchone()[0] > 10


def test_closing_does_not_wait_for_another_process_to_give_space_back(tmp_path: Path) -> None:
    database = _filled(tmp_path / "notes.db")
    database.call("delete", _delete(2))
    with locked_by_another_process(database.path):
        database.close()  # would wait for PATIENCE_S, and fail
    assert len(texts(database.path)) == 101


def test_a_store_is_opened_while_another_process_writes(tmp_path: Path) -> None:
    _filled(tmp_path / "notes.db").close()
    database = Database(tmp_path / "notes.db", TABLE, busy_timeout_s=0)
    with locked_by_another_process(database.path):
        database.engine.open().close()


async def test_a_read_that_fails_fails_alone(tmp_path: Path) -> None:
    """Reads that wait together are one transaction; on a server a failed statement would end it for all."""
    database = Database(tmp_path / "notes.db", TABLE)
    await database.run("insert", insert("one"))

    def count(connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT count(*) FROM notes").fetchone()[0])

    def breaks(connection: sqlite3.Connection) -> int:
        return int(connection.execute("SELECT count(*) FROM nothing").fetchone()[0])

    reads = [database.read(job) for job in (count, breaks, count, breaks, count)]
    answers = await asyncio.gather(*reads, return_exceptions=True)
    database.close()
    assert [answer for answer in answers if not isinstance(answer, BaseException)] == [1, 1, 1]
    assert sum(isinstance(answer, StoreFailed) for answer in answers) == 2


def test_the_path_of_a_file_says_nothing_of_what_is_wrong_with_it() -> None:
    error = PermissionError(13, "Permission denied", "/home/ann/blocked/store.db")
    assert store_error(Path("/home/ann/blocked/store.db"), error).cause.startswith("cannot write to")


def test_who_closes_a_store_waits_for_the_reads_that_are_under_way(database: Database) -> None:
    database.call("make", lambda c: c.execute("CREATE TABLE IF NOT EXISTS things (name TEXT)"))
    begun, ends = threading.Event(), threading.Event()

    def slow(_: sqlite3.Connection) -> str:
        begun.set()
        ends.wait(PATIENCE_S)
        return "read"

    with ThreadPoolExecutor() as pool:
        reading = pool.submit(database.look, slow, behind=())
        assert begun.wait(PATIENCE_S)
        ending = pool.submit(database.close)
        with pytest.raises(TimeoutError):
            ending.result(0.05)
        ends.set()
        assert reading.result(PATIENCE_S) == "read"
        ending.result(PATIENCE_S)
