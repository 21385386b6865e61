"""The files of a store: `planwright.db`, and the blobs beside it.

What is opened for reading is opened with `mode=ro` (sqlite.org/uri.html) and `query_only`.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

from planwright.domain.errors import SetupError
from planwright.store.log_check import set_aside
from planwright.store.migrations import MIGRATIONS
from planwright.store.store_errors import BROKEN, refuse_other, store_error

RECORDS, BLOBS = "planwright.db", "blobs"
VERSION = len(MIGRATIONS)
"""Version of the tables that this program knows."""
SIDE_FILES = ("-wal", "-shm", "-journal")
HOT = (sqlite3.SQLITE_READONLY_ROLLBACK, sqlite3.SQLITE_READONLY_RECOVERY)
BUSY_S = 5.0
"""Seconds for which another process is waited for that writes, or takes back what a dead one began."""


def read_only(path: Path, busy_timeout_s: float = BUSY_S) -> sqlite3.Connection:
    """Open one file for reading. Raises sqlite3.Error for one that is not there or no database.

    What a dead process was about to write is taken back first, which is writing (sqlite.org/lockingv3.html).
    """
    try:
        return _read_only(path, busy_timeout_s)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode not in HOT:
            raise
    with closing(read_write(path, busy_timeout_s)) as connection:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    return _read_only(path, busy_timeout_s)


def _read_only(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=busy_timeout_s, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only=1")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except BROKEN:
        connection.close()
        raise
    return connection


def read_write(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    """Open one file that is there for writing; a log of it that is damaged is copied first.

    Raises sqlite3.Error, OSError where there is no room for that.
    """
    set_aside(path)
    uri = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=busy_timeout_s)


def open_tables(folder: Path) -> sqlite3.Connection:
    """Open the tables of a store for reading, as they are at one moment.

    Raises SetupError for a store that is not there or is of a newer program, StoreFailed for a damaged one.
    """
    path = folder / RECORDS
    if not path.is_file():
        raise no_store(folder)
    with ExitStack() as undo:
        try:
            connection = undo.enter_context(closing(read_only(path)))
            refuse_other(path, connection, VERSION)
            connection.execute("BEGIN")
        except BROKEN as error:
            raise store_error(path, error) from error
        undo.pop_all()
    return connection


def has_file(folder: Path) -> bool:
    """Say whether a folder holds the file of a store."""
    return (folder / RECORDS).is_file()


def no_store(folder: Path) -> SetupError:
    """Say that there is nothing on record yet."""
    return SetupError(f"there is no store in {folder} yet", 'begin a run: planwright run "…"')
