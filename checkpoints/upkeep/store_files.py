"""The files of a store, opened for reading as one: `planwright.db` as `main`, `checkpoints.db` as `saver`.

Nothing is written: the files are opened with `mode=ro` (sqlite.org/uri.html) and `query_only`.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from planwright.checkpoints.migrations import CHECKPOINT_MIGRATIONS, MIGRATIONS
from planwright.checkpoints.store_errors import BROKEN, refuse_newer, store_error
from planwright.domain.errors import SetupError

RECORDS, CHECKPOINTS, BLOBS = "planwright.db", "checkpoints.db", "blobs"
FILES = {RECORDS: len(MIGRATIONS), CHECKPOINTS: len(CHECKPOINT_MIGRATIONS)}
SIDE_FILES = ("-wal", "-shm")


def read_only(path: Path) -> sqlite3.Connection:
    """Open one file for reading. Raises sqlite3.Error for one that is not there or no database."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only=1")
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except BROKEN:
        connection.close()
        raise
    return connection


def open_files(folder: Path) -> dict[str, sqlite3.Connection]:
    """Open the files of a store for reading, each as it is at one moment; none where there is no store.

    Raises StoreFailed for a file that is damaged, SetupError for one of a newer program.
    """
    opened: dict[str, sqlite3.Connection] = {}
    for name in filter(lambda name: (folder / name).is_file(), (CHECKPOINTS, RECORDS)):
        try:
            opened[name] = read_only(folder / name)
            refuse_newer(folder / name, opened[name], FILES[name])
            opened[name].execute("BEGIN")
        except BROKEN as error:
            raise store_error(folder / name, error) from error
    return opened


def open_both(folder: Path) -> sqlite3.Connection:
    """Open the records for reading, and the tables of the checkpoints beside them.

    Raises SetupError as `open_files` does, and for a store that is not there.
    """
    for connection in open_files(folder).values():
        connection.close()
    if not (folder / RECORDS).is_file():
        raise no_store(folder)
    connection = read_only(folder / RECORDS)
    if (folder / CHECKPOINTS).is_file():
        connection.execute("ATTACH ? AS saver", (f"{(folder / CHECKPOINTS).absolute().as_uri()}?mode=ro",))
    return connection


def has_files(folder: Path) -> bool:
    """Say whether a folder holds any file of a store."""
    return any((folder / name).is_file() for name in FILES)


def in_checkpoints(folder: Path, thread_id: str | None = None) -> bool:
    """Say whether a thread, or any, has checkpoints; where they cannot be read, none has."""
    query = "SELECT 1 FROM checkpoints WHERE ?1 IS NULL OR thread_id = ?1 LIMIT 1"
    try:
        with closing(read_only(folder / CHECKPOINTS)) as connection:
            return connection.execute(query, (thread_id,)).fetchone() is not None
    except BROKEN:
        return False


def no_store(folder: Path) -> SetupError:
    """Say that there is nothing on record yet."""
    return SetupError(f"there is no store in {folder} yet", 'begin a run: planwright run "…"')
