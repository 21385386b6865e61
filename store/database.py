"""One store, one writer thread, group commit.

Jobs are functions of the connection. The thread takes all that wait, runs each in a savepoint, commits them
together and then answers: nobody hears of a write that a kill could undo, and what is `synced` outlives a
loss of power too, with all before it. What nobody waits for rides with the next job that somebody does. A job
can be awaited from any event loop and called without one. Reads have a connection of their own. A store that
lacks what its mark has, has gone back: nothing is written until a person has said go.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from planwright.domain.errors import StoreFailed
from planwright.security.redaction.redactor import Redactor
from planwright.store.engines.engine import Engine, Unattributed
from planwright.store.engines.sqlite import SqliteEngine
from planwright.store.marks.mark import Mark
from planwright.store.queued_job import ALWAYS, BESIDE, Job, Lost, QueuedJob, T
from planwright.store.reader import Answer, Reader, answer

_LOG = logging.getLogger("planwright.checkpoints")
Boundary = Callable[[str], None]
RIDE_S = 0.05
"""Seconds after which a job that rides is committed alone."""


class Database:
    """A durable store behind one thread; `boundary` is told of every commit, before and after it."""

    mark: Mark | None = None
    """What rises outside of the store with each effect that is begun; set where it is opened for runs."""

    def __init__(
        self,
        path: Path,
        migrations: tuple[str, ...],
        *,
        busy_timeout_s: float = 30,
        boundary: Boundary | None = None,
        redactor: Redactor | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.path = path
        self.engine = engine or SqliteEngine(path, migrations, busy_timeout_s, redactor)
        self._boundary = boundary
        self._queue: queue.SimpleQueue[QueuedJob | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._readers = [Reader(self.engine) for _ in range(self.engine.readers)]
        self._carried: list[QueuedJob] = []  # jobs that rode with a commit that failed
        self._counting = threading.Lock()
        self._left = 0  # jobs that are not committed, ride not, and whose caller may ask for more meanwhile
        self._riding: Counter[str] = Counter()  # jobs that ride and are not committed, by name

    @property
    def is_open(self) -> bool:
        """Whether it has been opened, and not closed since."""
        return self._thread is not None

    def submit(
        self,
        name: str,
        job: Job[T],
        *,
        rides: bool = False,
        synced: bool = False,
        lost: Lost | None = None,
    ) -> Future[T]:
        """Queue a job without waiting; later jobs never overtake it.

        One that `rides` is committed with the next that somebody waits for, or after a moment, or where that
        fails with the one after it: nothing that was queued later is committed without it. Where it is itself
        what cannot be done, `lost` is told so before a later job begins.
        """
        future: Future[T] = Future()
        self._put(QueuedJob(name, job, future, lost, rides, synced, left=not rides))
        return future

    def call(self, name: str, job: Job[T]) -> T:
        """Run a job and wait for its commit, without an event loop."""
        future: Future[T] = Future()
        self._put(QueuedJob(name, job, future))
        return future.result()

    async def run(self, name: str, job: Job[T], *, synced: bool = False, begins: bool = False) -> T:
        """Run a job and await its commit, on any event loop; one that is `synced` outlives a loss of power.

        Of one that `begins` an effect the mark of the store has to know, too. A caller that is cancelled
        stops waiting, but what it queued still happens: no record may be lost.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        item = QueuedJob(name, job, future, synced=synced, begins=begins)
        if self._thread is None:
            await asyncio.to_thread(self._put, item)  # opening blocks
        else:
            self._put(item)
        try:
            return await future
        except asyncio.CancelledError:
            with self._counting:
                if not item.over:
                    item.left, self._left = True, self._left + 1
            raise

    async def read(self, job: Job[T], *, behind: Collection[str] | None = None) -> T:
        """Read beside the writes, unless a job is queued here that nobody waits for, or that rides.

        Of those that ride only the names count that are to be read `behind`: all but BESIDE, if None.
        """
        if self._waits(behind):
            if not self._reads_apart:
                return await self.run("read", job)
            await self.run("read", _nothing)
        return await self._reader().run(job)

    def look(self, job: Job[T], *, behind: Collection[str] | None = None) -> T:
        """Read like `read`, without an event loop."""
        if self._waits(behind):
            if not self._reads_apart:
                return self.call("read", job)
            self.call("read", _nothing)
        return self._reader().call(job)

    @property
    def _reads_apart(self) -> bool:
        """Whether the writer does no reads: where each takes a while, those of other callers wait for it."""
        return self.engine.readers > 1

    def _reader(self) -> Reader:
        """Choose the first reader that is free, or the one with the fewest before it."""
        return min(self._readers, key=lambda reader: reader.waiting)

    def _waits(self, behind: Collection[str] | None) -> bool:
        with self._counting:
            riding = self._riding.keys()
            rides = not (riding <= BESIDE if behind is None else riding.isdisjoint(behind))
        return rides or bool(self._left) or self._thread is None

    def _put(self, item: QueuedJob) -> None:
        with self._lock:
            if self._thread is None:
                connection = self.engine.open()
                if self.mark is not None:
                    self.mark.look_again()
                self._thread = threading.Thread(
                    target=self._work, args=(connection,), name=f"writer:{self.path.name}", daemon=True
                )
                self._thread.start()
            with self._counting:
                self._left += item.left
                self._riding.update([item.name] * item.rides)
            self._queue.put(item)

    def close(self) -> None:
        """Finish what is queued and close the store; a later job opens it again."""
        for reader in self._readers:
            reader.close()
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._queue.put(None)
                thread.join()

    def _work(self, connection: sqlite3.Connection) -> None:
        with contextlib.closing(connection):
            while batch := self._next_batch():
                items = [item for item in batch if item is not None]
                if items:
                    self._commit(connection, items)
                if len(items) < len(batch):
                    if self._carried:
                        self._commit(connection, [])
                    self.engine.give_back(connection)
                    return

    def _next_batch(self) -> list[QueuedJob | None]:
        """Take what is queued; jobs that ride wait for one that does not. None at the end: close."""
        batch = [self._queue.get()]
        leaves = time.monotonic() + RIDE_S
        while batch[-1] is not None:
            try:
                if all(item and item.rides for item in batch):
                    batch.append(self._queue.get(timeout=max(0, leaves - time.monotonic())))
                else:
                    batch.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return batch

    def _commit(self, connection: sqlite3.Connection, batch: list[QueuedJob]) -> None:
        batch, self._carried = [*self._carried, *batch], []
        names = "+".join(item.name for item in batch)
        self._reach(f"before {names}")
        try:
            try:
                answers = self._transacted(connection, batch)
            except Unattributed:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                answers = self._transacted(connection, batch, one_by_one=True)
        except (sqlite3.Error, StoreFailed) as error:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            failure = self.engine.failure(error) if isinstance(error, sqlite3.Error) else error
            answers = [(item.waiter, None, failure) for item in batch if not item.rides]
            self._carried = [item for item in batch if item.rides]
        with self._counting:
            for item in batch:
                item.over = not item.rides
            self._left -= sum(item.left for item in batch)
            if not self._carried:
                self._riding -= Counter(item.name for item in batch if item.rides)
        self._reach(f"after {names}")
        answer(answers)

    def _done(self, connection: sqlite3.Connection, item: QueuedJob, refusal: StoreFailed | None) -> Answer:
        value, problem = (None, refusal) if refusal else _in_savepoint(connection, item.job)
        if refused := isinstance(problem, sqlite3.Error):
            problem = self.engine.failure(problem)
        if problem is not None and item.rides:
            if refused or item.lost is None:
                _LOG.error("%s was not written, and nobody waits for it: %s", item.name, problem)
            if item.lost is not None:
                item.lost(problem)
        return item.waiter, value, problem

    def _transacted(
        self, connection: sqlite3.Connection, batch: list[QueuedJob], *, one_by_one: bool = False
    ) -> list[Answer]:
        """Do the jobs of a transaction, commit it, raise the mark; refuse them in a store that went back.

        Raises Unattributed where the server refused one of several statements: nothing was done.
        """
        synced = any(item.synced for item in batch)
        beside = all(item.beside for item in batch) and (self.mark is None or self.mark.is_compared)
        self.engine.begin(connection, synced=synced, beside=beside, one_by_one=one_by_one)
        setback = self.mark.setback(connection) if self.mark else None
        refusal = setback.error() if setback else None
        answers = [self._done(connection, item, None if item.name in ALWAYS else refusal) for item in batch]
        done = zip(batch, answers, strict=True)
        begins = any(item.begins and problem is None for item, (_, _, problem) in done)
        begun = self.mark.advance(connection) if self.mark and begins else None
        connection.execute("COMMIT")
        if self.mark and begun:
            try:
                self.mark.write(begun)
            except StoreFailed as error:  # what is committed stays so, and is not sent
                unsent = [item.waiter for item in batch if item.begins]
                answers = [(answer[0], None, error) if answer[0] in unsent else answer for answer in answers]
        return answers

    def _reach(self, name: str) -> None:
        if self._boundary is not None:
            self._boundary(f"{self.path.stem}: {name}")


def _nothing(_: sqlite3.Connection) -> None:
    """Wait for what was queued before."""


def _in_savepoint(connection: sqlite3.Connection, job: Job[Any]) -> tuple[Any, BaseException | None]:
    connection.execute("SAVEPOINT job")
    try:
        value = job(connection)
    except BaseException as error:
        of_all = isinstance(error, sqlite3.OperationalError | Unattributed)
        if of_all or type(error) is sqlite3.DatabaseError:
            raise  # the disk is full, or the file is damaged: the whole batch fails
        connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")
        return None, error
    connection.execute("RELEASE job")
    return value, None
