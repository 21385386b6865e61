"""SQLite: a store in one file, whose log lets others read while one process writes."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from pathlib import Path

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from planwright.domain.errors import PlanwrightError, StoreFailed
from planwright.security.redaction.connection import RedactedConnection
from planwright.security.redaction.redactor import Redactor
from planwright.store.log_check import set_aside
from planwright.store.migrations import indexes
from planwright.store.private_files import private_database
from planwright.store.store_errors import BROKEN, refuse_other, store_error, store_version
from planwright.store.store_files import read_only
from planwright.store.store_origin import begin_here, check_origin

_LOG = logging.getLogger("planwright.checkpoints")
FREE_SHARE = 4
"""Free pages are given back where they are more than one in so many."""
MOST_FREED = 16_384
"""Most pages that are given back at once: 64 MB, so that closing a store stays quick."""


REPLACED = "another file was put in its place while it was open"


class SqliteEngine:
    """Opens connections to one file."""

    readers = 1  # what waits is not the disk, and Python reads on one thread at a time

    def __init__(
        self, path: Path, migrations: tuple[str, ...], busy_timeout_s: float, redactor: Redactor | None
    ) -> None:
        self._path = path.absolute()
        self._migrations = migrations
        self._busy_timeout_s = busy_timeout_s
        self._redactor = redactor
        self._file = (0, 0)  # device and inode of the file that is open for writing

    @property
    def label(self) -> str:
        """Name the file."""
        return str(self._path)

    def exists(self) -> bool:
        """Say whether the file is there."""
        return self._path.is_file()

    def open(self) -> sqlite3.Connection:
        """Open the file for writing, which is made and brought up to date where it has to be."""
        try:
            left = self._path.with_name(
                f"{self._path.name}-wal"
            ).is_file()  # by a process that died, or lives
            if left and (copy := set_aside(self._path)):
                _LOG.warning("the log of %s is damaged: commits in it are lost; see %s", self._path, copy)
            private_database(self._path)
            connection = sqlite3.connect(
                self._path,
                timeout=self._busy_timeout_s,
                isolation_level=None,
                check_same_thread=False,
                factory=RedactedConnection if self._redactor else sqlite3.Connection,
            )
            self._file = _identity(self._path)
        except (OSError, sqlite3.Error) as error:
            raise store_error(self._path, error) from error
        try:
            connection.row_factory = sqlite3.Row
            if isinstance(connection, RedactedConnection):
                connection.redactor = self._redactor or Redactor()
            refuse_other(self._path, connection, len(self._migrations))
            check_origin(connection, self._path)
            if not connection.execute("PRAGMA page_count").fetchone()[0]:  # it counts in a new file alone
                connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            self._use_wal(connection)
            self._migrate(connection)
        except BROKEN as error:
            connection.close()
            raise store_error(self._path, error) from error
        except PlanwrightError:
            connection.close()
            raise
        return connection

    def open_to_read(self) -> sqlite3.Connection:
        """Open the file so that nothing in it can be changed."""
        connection = read_only(self._path, self._busy_timeout_s)
        connection.row_factory = sqlite3.Row
        return connection

    def begin(
        self, connection: sqlite3.Connection, *, synced: bool, beside: bool = False, one_by_one: bool = False
    ) -> None:
        """Take the lock of the file, which is never shared; the disk has what is `synced` after the commit.

        Raises sqlite3.OperationalError where another file has taken its place: what is written here is lost.
        """
        if _identity(self._path) != self._file:
            raise sqlite3.OperationalError(f"{REPLACED}: end this process, and begin it again")
        connection.execute(f"PRAGMA synchronous={'FULL' if synced else 'NORMAL'}")
        connection.execute("BEGIN IMMEDIATE")

    def begin_reading(self, connection: sqlite3.Connection) -> None:
        """See what was committed before the first statement (sqlite.org/isolation.html)."""
        connection.execute("BEGIN")

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Cut free pages off the file where they are more than a quarter of it (sqlite.org/pragma.html)."""
        with contextlib.suppress(sqlite3.Error):
            connection.execute("PRAGMA busy_timeout=0")  # whoever else writes goes first
            (free,), (pages,) = (
                connection.execute(f"PRAGMA {name}").fetchone() for name in ("freelist_count", "page_count")
            )
            if free * FREE_SHARE > pages:
                # `execute` would step once, and that frees one page
                connection.executescript(f"PRAGMA incremental_vacuum({MOST_FREED})")

    def failure(self, error: Exception) -> StoreFailed:
        """Say in words what an error of SQLite means for the file."""
        return store_error(self._path, error)

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
        if store_version(connection) == len(self._migrations) and not self._lacking(connection):
            return
        connection.execute("BEGIN IMMEDIATE")
        done = store_version(connection)
        if not done:
            begin_here(connection, self._path)
        for number, script in enumerate(self._migrations[done:], done + 1):
            for statement in filter(str.strip, script.split(";\n")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={number}")
        for statement in self._lacking(connection):
            connection.execute(statement)
        connection.execute("COMMIT")
        if 0 < done < len(self._migrations):
            _LOG.info("%s migrated from version %d to %d", self._path.name, done, len(self._migrations))

    def _lacking(self, connection: sqlite3.Connection) -> list[str]:
        """List what makes the indexes that a store does not have, as one of an earlier program."""
        there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
        return [text for name, text in indexes(self._migrations).items() if name not in there]


def _identity(path: Path) -> tuple[int, int]:
    """Tell a file apart from another one at the same path; (0, 0) where there is none."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino
