"""Take over the checkpoints of an older program, which kept them in a file of their own."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from planwright.checkpoints.consent.store_origin import check_origin
from planwright.checkpoints.migrations import OLD_CHECKPOINT_VERSION
from planwright.checkpoints.store_errors import BROKEN, refuse_newer, store_error
from planwright.domain.errors import RunError

OLD_FILE = "checkpoints.db"
SIDES = ("", "-wal", "-shm")
MOST = 50
_PLACE = "thread_id, checkpoint_ns, checkpoint_id"
_NEWEST = (
    "SELECT *, rowid AS number, row_number() OVER (PARTITION BY thread_id, checkpoint_ns ORDER BY rowid DESC)"
    " AS place FROM checkpoints"
)
_QUERIES = {
    "checkpoints": f"SELECT {_PLACE}, parent_checkpoint_id, type, checkpoint, metadata FROM ({_NEWEST})"
    " WHERE place <= ? ORDER BY number",
    "writes": f"SELECT {_PLACE}, task_id, task_path, idx, channel, type, value FROM writes"
    f" WHERE ({_PLACE}) IN (SELECT {_PLACE} FROM ({_NEWEST}) WHERE place <= ?) ORDER BY rowid",
}
# Where a connection locks the file of a database; one in WAL mode does as long as it is open
# (sqlite.org/src/file/src/os.h: PENDING_BYTE + 2, SHARED_SIZE).
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510


def adopt_checkpoints(connection: sqlite3.Connection, folder: Path) -> bool:
    """Copy the newest checkpoints of each thread from `checkpoints.db`, once, and remove that file.

    Returns whether there was one. Raises RunError while another program has it open, StoreFailed for a file
    that cannot be read, SetupError for one of a newer program, or of elsewhere that nobody trusts.
    """
    path = folder / OLD_FILE
    if not path.is_file():
        return False
    try:
        connection.execute("BEGIN IMMEDIATE")  # whoever opens the store at the same time waits here
        try:
            if connection.execute("INSERT OR IGNORE INTO adopted_files VALUES (?)", (OLD_FILE,)).rowcount:
                _copy(path, connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
    except BROKEN as error:
        raise store_error(path, error) from error
    for side in SIDES:  # what is copied is durable by now
        path.with_name(path.name + side).unlink(missing_ok=True)
    return True


def _copy(path: Path, connection: sqlite3.Connection) -> None:
    if is_open(path):
        next_step = "end it (planwright studio, a program of yours, a database browser), then try again"
        raise RunError(f"another program has {path} open, and would go on writing to it", next_step)
    with closing(sqlite3.connect(path)) as old:
        refuse_newer(path, old, OLD_CHECKPOINT_VERSION)
        check_origin(old, path)
        if not {row[0] for row in old.execute("SELECT name FROM sqlite_master")}.issuperset(_QUERIES):
            return
        for table, query in _QUERIES.items():
            rows = old.execute(query, (MOST,))
            names = ", ".join(column[0] for column in rows.description)
            marks = ", ".join("?" * len(rows.description))
            connection.executemany(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", rows)


def is_open(path: Path) -> bool:
    """Say whether another process has a connection to a database in WAL mode, or reads or writes it."""
    if not path.is_file():
        return False
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
