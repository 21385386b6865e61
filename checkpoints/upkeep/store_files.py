"""The files of a store: `planwright.db`, and `checkpoints.db` of an older program.

What is opened for reading is opened with `mode=ro` (sqlite.org/uri.html) and `query_only`.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

from planwright.checkpoints.migrations import MIGRATIONS, OLD_CHECKPOINT_VERSION
from planwright.checkpoints.store_errors import BROKEN, refuse_newer, store_error
from planwright.checkpoints.upkeep.log_check import set_aside
from planwright.domain.errors import SetupError

RECORDS, CHECKPOINTS, BLOBS = "planwright.db", "checkpoints.db", "blobs"
FILES = {RECORDS: len(MIGRATIONS), CHECKPOINTS: OLD_CHECKPOINT_VERSION}
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


def open_files(folder: Path) -> dict[str, sqlite3.Connection]:
    """Open the files of a store for reading, each as it is at one moment; none where there is no store.

    Raises StoreFailed for a file that is damaged, SetupError for one of a newer program.
    """
    opened: dict[str, sqlite3.Connection] = {}
    with ExitStack() as undo:
        for name in filter(lambda name: (folder / name).is_file(), (CHECKPOINTS, RECORDS)):
            try:
                opened[name] = undo.enter_context(closing(read_only(folder / name)))
                refuse_newer(folder / name, opened[name], FILES[name])
                opened[name].execute("BEGIN")
            except BROKEN as error:
                raise store_error(folder / name, error) from error
        undo.pop_all()
    return opened


def open_tables(folder: Path) -> sqlite3.Connection:
    """Open the tables of a store for reading.

    Raises SetupError as `open_files` does, and for a store that is not there.
    """
    for connection in open_files(folder).values():
        connection.close()
    if not (folder / RECORDS).is_file():
        raise no_store(folder)
    return read_only(folder / RECORDS)


def has_files(folder: Path) -> bool:
    """Say whether a folder holds any file of a store."""
    return any((folder / name).is_file() for name in FILES)


def no_store(folder: Path) -> SetupError:
    """Say that there is nothing on record yet."""
    return SetupError(f"there is no store in {folder} yet", 'begin a run: planwright run "…"')
