"""One SQLite file, one writer thread, group commit.

Jobs are functions of the connection. The thread takes all jobs that wait, runs each in a
savepoint, commits them together and then answers: nobody hears of a write that is not durable.
A job can be awaited from any event loop and called without one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, Union

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from planwright.checkpoints.private_files import private_database
from planwright.checkpoints.store_errors import BROKEN, refuse_newer, store_error, store_version
from planwright.domain.errors import SetupError
from planwright.security.redaction.connection import RedactedConnection
from planwright.security.redaction.redactor import Redactor

T = TypeVar("T")
_LOG = logging.getLogger("planwright.checkpoints")
Job = Callable[[sqlite3.Connection], T]
Boundary = Callable[[str], None]
_Waiter = Union["Future[Any]", "asyncio.Future[Any]"]
_Answer = tuple[_Waiter, Any, BaseException | None]


@dataclass(frozen=True)
class _Item:
    """A queued job, and who waits for it."""

    name: str
    """What the job is called at its boundary."""
    job: Job[Any]
    """What is done with the connection, in one transaction."""
    waiter: _Waiter
    """Gets what the job returns or raises."""


class Database:
    """A durable store behind one thread. It opens on first use, so importing costs nothing.

    `boundary` is called with the names of the jobs before and after every commit; the crash
    tests end the process there.
    """

    def __init__(
        self,
        path: Path,
        migrations: tuple[str, ...],
        *,
        busy_timeout_s: float = 30,
        boundary: Boundary | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.path = path
        self._redactor = redactor
        self._migrations = migrations
        self._busy_timeout_s = busy_timeout_s
        self._boundary = boundary
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, name: str, job: Job[T]) -> Future[T]:
        """Queue a job without waiting; later jobs never overtake it."""
        future: Future[T] = Future()
        self._put(_Item(name, job, future))
        return future

    def call(self, name: str, job: Job[T]) -> T:
        """Run a job and wait for its commit, without an event loop."""
        return self.submit(name, job).result()

    async def run(self, name: str, job: Job[T]) -> T:
        """Run a job and await its commit, on any event loop.

        A caller that is cancelled stops waiting, but what it queued still happens: the record of
        an effect must not be lost.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._thread is None:
            await asyncio.to_thread(self._put, _Item(name, job, future))  # opening blocks
        else:
            self._put(_Item(name, job, future))
        return await future

    def _put(self, item: _Item) -> None:
        with self._lock:
            if self._thread is None:
                connection = self._open()
                self._thread = threading.Thread(
                    target=self._work, args=(connection,), name=f"writer:{self.path.name}", daemon=True
                )
                self._thread.start()
            self._queue.put(item)

    def close(self) -> None:
        """Finish what is queued and close the file; a later job opens it again."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._queue.put(None)
                thread.join()

    def _open(self) -> sqlite3.Connection:
        try:
            private_database(self.path)
            connection = sqlite3.connect(
                self.path,
                timeout=self._busy_timeout_s,
                isolation_level=None,
                check_same_thread=False,
                factory=RedactedConnection if self._redactor else sqlite3.Connection,
            )
        except (OSError, sqlite3.Error) as error:
            raise store_error(self.path, error) from error
        try:
            connection.row_factory = sqlite3.Row
            if isinstance(connection, RedactedConnection):
                connection.redactor = self._redactor or Redactor()
            refuse_newer(self.path, connection, len(self._migrations))
            self._use_wal(connection)
            connection.execute("PRAGMA synchronous=FULL")
            self._migrate(connection)
        except BROKEN as error:
            connection.close()
            raise store_error(self.path, error) from error
        except SetupError:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: sqlite3.Connection) -> None:
        """Switch to WAL, once for all openers: SQLite answers "locked" here without its busy timeout."""
        for attempt in Retrying(
            retry=retry_if_exception(lambda error: "locked" in str(error)),
            stop=stop_after_delay(self._busy_timeout_s),
            wait=wait_random(0.005, 0.05),
            reraise=True,
        ):
            with attempt:
                connection.execute("PRAGMA journal_mode=WAL")

    def _migrate(self, connection: sqlite3.Connection) -> None:
        if store_version(connection) == len(self._migrations):
            return
        connection.execute("BEGIN IMMEDIATE")
        done = store_version(connection)
        for number, script in enumerate(self._migrations[done:], done + 1):
            for statement in filter(str.strip, script.split(";\n")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={number}")
        connection.execute("COMMIT")
        if 0 < done < len(self._migrations):
            _LOG.info("%s migrated from version %d to %d", self.path.name, done, len(self._migrations))

    def _work(self, connection: sqlite3.Connection) -> None:
        with contextlib.closing(connection):
            while item := self._queue.get():
                batch = [item]
                stop = False
                with contextlib.suppress(queue.Empty):
                    while not stop:
                        if following := self._queue.get_nowait():
                            batch.append(following)
                        else:
                            stop = True
                self._commit(connection, batch)
                if stop:
                    return

    def _commit(self, connection: sqlite3.Connection, batch: list[_Item]) -> None:
        names = "+".join(item.name for item in batch)
        answers: list[_Answer] = []
        self._reach(f"before {names}")
        try:
            connection.execute("BEGIN IMMEDIATE")
            for item in batch:
                answers.append((item.waiter, *_in_savepoint(connection, item.job)))
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            failure = store_error(self.path, error)
            answers = [(item.waiter, None, failure) for item in batch]
        self._reach(f"after {names}")
        _answer(answers)

    def _reach(self, name: str) -> None:
        if self._boundary is not None:
            self._boundary(f"{self.path.stem}: {name}")


def _answer(answers: list[_Answer]) -> None:
    """Tell threads at once, and each event loop in one go: waking a loop costs a system call."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Answer]] = {}
    for answer in answers:
        waiter = answer[0]
        if isinstance(waiter, Future):
            _resolve([answer])
        else:
            by_loop.setdefault(waiter.get_loop(), []).append(answer)
    for loop, waiting in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits there any more
            loop.call_soon_threadsafe(_resolve, waiting)


def _resolve(answers: list[_Answer]) -> None:
    for waiter, value, problem in answers:
        if waiter.done():
            continue  # whoever waited was cancelled
        if problem is not None:
            waiter.set_exception(problem)
        else:
            waiter.set_result(value)


def _in_savepoint(connection: sqlite3.Connection, job: Job[Any]) -> tuple[Any, BaseException | None]:
    connection.execute("SAVEPOINT job")
    try:
        value = job(connection)
    except BaseException as error:
        if isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError:
            raise  # the disk is full, or the file is gone or damaged: the whole batch fails
        connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")
        return None, error
    connection.execute("RELEASE job")
    return value, None
