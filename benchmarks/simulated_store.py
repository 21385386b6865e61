"""The store of a simulated worker: real files by real SQLite, without a thread, on a disk that may fail."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from benchmarks.simulated_time import SimulatedLoop
from planwright.store.database import RIDE_S, Database
from planwright.store.heartbeat import Beat, Heartbeat
from planwright.store.queued_job import Job, QueuedJob, T
from planwright.store.store_errors import store_error

Moment = Literal["begin", "within", "commit", "after commit"]
MOMENTS: tuple[Moment, ...] = ("begin", "within", "commit", "after commit")
Committed = Callable[[str, frozenset[str], int], None]
"""Told of a commit: of which database, of which jobs, and how many rows they changed."""
TEXTS = ("database is locked", "disk I/O error", "database or disk is full")


@dataclass
class Disk:
    """What stands between one worker and its files: `left` faults of one kind to come, or the worker is gone.

    `after commit`: the commit has happened, and an error is reported all the same.
    """

    moment: Moment = "begin"
    text: str = ""
    left: int = 0
    gone: bool = False

    def meet(self, moment: Moment) -> None:
        """Raise what happens at a moment of a transaction."""
        if self.gone:
            raise sqlite3.OperationalError("the process is gone")
        if self.left and self.moment == moment:
            self.left -= 1
            raise sqlite3.OperationalError(self.text)


class DiskConnection:
    """A connection to a file on such a disk."""

    def __init__(self, connection: sqlite3.Connection, disk: Disk) -> None:
        self._connection = connection
        self._disk = disk

    def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Run a statement, or fail."""
        word = sql.partition(" ")[0]
        if word == "BEGIN":
            self._disk.meet("begin")
        elif word == "COMMIT":
            self._disk.meet("commit")
            cursor = self._connection.execute(sql)
            self._disk.meet("after commit")
            return cursor
        elif word not in ("SAVEPOINT", "RELEASE", "ROLLBACK"):
            self._disk.meet("within")
        return self._connection.execute(sql, parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class SimulatedDatabase(Database):
    """A database whose jobs are done in a step of its worker's loop: all that wait, in one commit."""

    def __init__(
        self,
        path: Path,
        migrations: tuple[str, ...],
        *,
        loop: SimulatedLoop,
        disk: Disk,
        committed: Committed,
        **options: Any,
    ) -> None:
        super().__init__(path, migrations, **options)
        self._loop = loop
        self._disk = disk
        self._committed = committed
        self._waiting: list[QueuedJob] = []
        self._connection: sqlite3.Connection | None = None
        self._second: sqlite3.Connection | None = None

    def call(self, name: str, job: Job[T]) -> T:
        """Run a job at once, after those that wait."""
        future: Future[T] = self.submit(name, job)
        self._flush()
        return future.result()

    async def read(self, job: Job[T], *, behind: Collection[str] | None = None) -> T:
        """Read beside what rides, or in the order of all jobs."""
        return await self.run("read", job) if self._waits(behind) else self._read(job)

    def look(self, job: Job[T], *, behind: Collection[str] | None = None) -> T:
        """Read like `read`, at once."""
        return self.call("read", job) if self._waits(behind) else self._read(job)

    def close(self) -> None:
        """Close the file without doing anything more."""
        for connection in (self._connection, self._second):
            if connection is not None:
                connection.close()
        self._connection = self._second = None

    def _read(self, job: Job[T]) -> T:
        try:
            self._disk.meet("begin")
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error
        if self._second is None:
            self._second = sqlite3.connect(self.path, isolation_level=None)
            self._second.row_factory = sqlite3.Row
        return job(self._second)

    def _put(self, item: QueuedJob) -> None:
        if self._connection is None:
            self._connection = cast(sqlite3.Connection, DiskConnection(self._on_disk(), self._disk))
            self._thread = threading.Thread()  # open; it is never started
        with self._counting:
            self._left += item.left
            self._riding.update([item.name] * item.rides)
        self._waiting.append(item)
        if not item.rides:
            self._loop.call_soon(self._flush)
        elif len(self._waiting) == 1:
            self._loop.call_later(RIDE_S, self._flush)

    def _on_disk(self) -> sqlite3.Connection:
        try:
            self._disk.meet("begin")
        except sqlite3.Error as error:
            raise store_error(self.path, error) from error
        return self.engine.open()

    def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        if batch and self._connection is not None:
            before = self._connection.total_changes
            self._commit(self._connection, batch)
            names = frozenset(item.name for item in batch)
            self._committed(self.path.stem, names, self._connection.total_changes - before)


class SimulatedHeartbeat(Heartbeat):
    """Beats on the loop of a worker."""

    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__()
        self._loop = loop
        self._beats: dict[object, Callable[[], None]] = {}

    def add(self, key: object, interval_s: float, beat: Beat) -> None:
        """Do something every `interval_s` seconds, from one interval on."""

        def due() -> None:
            if self._beats.get(key) is due:
                if beat():
                    self._loop.call_later(interval_s, due)
                else:
                    self._beats.pop(key, None)

        self._beats[key] = due
        self._loop.call_later(interval_s, due)

    def remove(self, key: object) -> None:
        """Stop doing it."""
        self._beats.pop(key, None)

    def close(self) -> None:
        """Stop everything."""
        self._beats.clear()
