"""One connection that only reads, on a thread of its own: it takes no lock and waits for no commit."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from planwright.checkpoints.engines.engine import Engine

T = TypeVar("T")


class Reader:
    """Reads of one store, one after the other. It opens on first use."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._executor: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None

    def call(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job and wait for it, without an event loop."""
        return self._thread().submit(self._read, job).result()

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job and await it, on any event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._thread(), self._read, job)

    def close(self) -> None:
        """Close the connection; a later job opens it again."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.submit(self._close).result()
            executor.shutdown()

    def _thread(self) -> ThreadPoolExecutor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, f"reader:{self._engine.label}")
        return self._executor

    def _read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        try:
            connection = self._connection = self._connection or self._engine.open_to_read()
            self._engine.begin_reading(connection)
            try:
                return job(connection)
            finally:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._engine.failure(error) from error

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
