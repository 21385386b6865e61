"""One connection that only reads, on a thread of its own: it takes no lock and waits for no commit.

A reader of a WAL sees what was committed before it began (sqlite.org/isolation.html). Reads that wait
together see the same, and wake their event loop once: handing one over costs more than most of them take.

Records that stay as they are need be read once: `ReadOnce`.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar, Union

from planwright.domain.errors import PlanwrightError
from planwright.store.engines.engine import Engine
from planwright.store.store_errors import half_a_character

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
MOST_READ_ONCE = 64
Waiter = Union["Future[Any]", "asyncio.Future[Any]"]
"""Who waits for what a job returns or raises: a thread, or an event loop."""
Answer = tuple[Waiter, object, BaseException | None]
"""What is told to whom: a value, or what went wrong."""
Job = Callable[[sqlite3.Connection], object]
Read = tuple[Job, Waiter]


class Reader:
    """Reads of one store, one after the other. It opens on first use."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queue: queue.SimpleQueue[Read | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._counting = threading.Lock()  # who closes holds the other one, and waits
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """Number of reads that wait, or are under way."""
        return self._waiting

    def call(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job and wait for it, without an event loop."""
        future: Future[T] = Future()
        self._put((job, future))
        return future.result()

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job and await it, on any event loop."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put((job, future))
        return await future

    def close(self) -> None:
        """Close the connection; a later job opens it again."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._queue.put(None)
                thread.join()

    def _put(self, read: Read) -> None:
        with self._lock:
            if self._thread is None:
                name = f"reader:{self._engine.label}"
                self._thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._thread.start()
            with self._counting:
                self._waiting += 1
            self._queue.put(read)

    def _work(self) -> None:
        connection: sqlite3.Connection | None = None
        try:
            while (first := self._queue.get()) is not None:
                reads: list[Read | None] = [first]
                with contextlib.suppress(queue.Empty):
                    while reads[-1] is not None:
                        reads.append(self._queue.get_nowait())
                try:
                    connection = connection or self._engine.open_to_read()
                    answers = self._answers(connection, [read for read in reads if read])
                except sqlite3.Error as error:
                    answers = [(waiter, None, error) for _, waiter in filter(None, reads)]
                with self._counting:
                    self._waiting -= len(answers)
                answer([self._explained(answer) for answer in answers])
                if reads[-1] is None:
                    return
        finally:
            if connection is not None:
                connection.close()

    def _answers(self, connection: sqlite3.Connection, reads: list[Read]) -> list[Answer]:
        """Do reads in one transaction; one that fails ends it for itself alone, the next begins another."""
        answers: list[Answer] = []
        for read in reads:
            if not answers or answers[-1][2]:
                self._engine.begin_reading(connection)
            answers.append(_answered(connection, *read))
            if answers[-1][2] or read is reads[-1]:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("COMMIT")
        return answers

    def _explained(self, answer: Answer) -> Answer:
        waiter, value, problem = answer
        return waiter, value, self._engine.failure(problem) if isinstance(problem, sqlite3.Error) else problem


def _answered(connection: sqlite3.Connection, job: Job, waiter: Waiter) -> Answer:
    try:
        return waiter, job(connection), None
    except BaseException as error:
        if not isinstance(error, Exception):
            raise
        return waiter, None, error  # whoever waits has to hear of it


def answer(answers: list[Answer]) -> None:
    """Tell threads at once, and each event loop in one go: waking a loop costs a system call."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
    for answer in answers:
        waiter = answer[0]
        if isinstance(waiter, Future):
            _resolve([answer])
        else:
            by_loop.setdefault(waiter.get_loop(), []).append(answer)
    for loop, waiting in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits there any more
            loop.call_soon_threadsafe(_resolve, waiting)


def _resolve(answers: list[Answer]) -> None:
    for waiter, value, problem in answers:
        if waiter.done():
            continue  # whoever waited was cancelled
        if isinstance(problem, UnicodeEncodeError):
            problem = half_a_character(problem)
        if problem is not None:
            waiter.set_exception(problem)
        else:
            waiter.set_result(value)


class ReadOnce(Generic[K, V]):
    """Read each record once; who asks meanwhile waits for that.

    Of more than `MOST_READ_ONCE` records the oldest is forgotten.
    """

    def __init__(self, read: Callable[[K], Awaitable[V]]) -> None:
        self._read = read
        self._records: dict[K, asyncio.Future[V]] = {}

    async def get(self, key: K) -> V:
        """Return a record. Raises what its reading does; whoever asks next reads it anew."""
        if key not in self._records:
            while len(self._records) >= MOST_READ_ONCE:
                del self._records[next(iter(self._records))]
            self._records[key] = asyncio.ensure_future(self._read(key))
        try:
            return await asyncio.shield(self._records[key])
        except PlanwrightError:
            self.forget(key)
            raise

    def forget(self, key: K) -> None:
        """Let the next who asks read it anew."""
        self._records.pop(key, None)
