"""What to do about a file of the store that cannot be used, and about a text that it cannot hold."""

from __future__ import annotations

import resource
import shutil
import sqlite3
from pathlib import Path

from planwright.domain.errors import SetupError, StoreFailed

LEAST_FREE = 1 << 16  # bytes
LEAST_BELOW_LIMIT = 1 << 20  # bytes: what one commit may write
# What SQLite says of a damaged schema quotes it, and may not be UTF-8.
BROKEN = (sqlite3.Error, UnicodeDecodeError)


def store_error(path: Path, error: Exception) -> StoreFailed:
    """Say in words what an error of SQLite or of the file system means for a file of the store.

    The texts are those of sqlite.org/rescode.html: FULL, IOERR, CORRUPT, NOTADB, READONLY, CANTOPEN, BUSY.
    """
    text = (error.strerror or "") if isinstance(error, OSError) else str(error)  # not its path
    if "locked" in text or text == "locking protocol":  # the latter where its holder stands still
        return StoreFailed(
            f"{path} is locked by another program",
            "close that program (a database browser, a backup), then try again",
        )
    if isinstance(error, sqlite3.IntegrityError):
        return StoreFailed(
            f"the store {path} refuses a statement: {text}", "see what refuses it: planwright db check"
        )
    broken = "disk I/O" in text or "Input/output error" in text
    if "is full" in text or "No space left" in text or (broken and _is_full(path)):
        return StoreFailed(f"there is no space left for {path}: {text}", "free space; nothing is lost")
    if broken:
        return StoreFailed(
            f"{path} cannot be read or written: {text}", "check the disk, then: planwright db check"
        )
    if "malformed" in text or "not a database" in text or isinstance(error, UnicodeDecodeError):
        next_step = "planwright db check, then: planwright db restore BACKUP"
        return StoreFailed(f"the store {path} is damaged: {text}", next_step)
    if "readonly" in text or "unable to open" in text or isinstance(error, OSError):
        return StoreFailed(
            f"cannot write to {path}: {text}",
            "make the folder writable, or set storage.path in planwright.toml to one that is",
        )
    return StoreFailed(f"the store {path} failed: {text}", "look at it: planwright db check")


def _is_full(path: Path) -> bool:
    """Say whether next to nothing is free: a log that cannot grow is an I/O error to SQLite.

    A limit on the size of files (`ulimit -f`) leaves as little.
    """
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    files = (path, path.with_name(f"{path.name}-wal"))
    try:
        largest = max((file.stat().st_size for file in files if file.exists()), default=0)
        free = shutil.disk_usage(path if path.is_dir() else path.parent).free
    except OSError:
        return False
    return free < LEAST_FREE or (limit != resource.RLIM_INFINITY and limit - largest < LEAST_BELOW_LIMIT)


def refuse_other(path: Path, connection: sqlite3.Connection, known: int) -> None:
    """Raise SetupError for a file of a newer program, or of another one, whose tables nobody counts.

    `known` is the newest version that is understood. A file without tables is one that is new.
    """
    has_tables = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    version = store_version(connection)  # read last: ours has its version once it has tables
    if has_tables and not version:
        raise SetupError(
            f"{path} is a database of another program; nothing was changed",
            "move it away, or set storage.path in planwright.toml to another folder",
        )
    if version > known:
        raise SetupError(
            f"{path} was written by a newer planwright (its tables have version {version}, this program"
            f" knows {known}); nothing was changed",
            "install that version, or put a backup from before in place: planwright db restore BACKUP",
        )


def check_readable(connection: sqlite3.Connection) -> None:
    """Look into a table. Raises sqlite3.Error for a file that is damaged, or that may not be read."""
    connection.execute("SELECT 1 FROM runs, sqlite_master LIMIT 1").close()


def check_writable(connection: sqlite3.Connection) -> None:
    """Write without a change. Raises sqlite3.Error where that is not allowed."""
    connection.execute("UPDATE runs SET status = status WHERE 1 = 0").close()


def store_version(connection: sqlite3.Connection) -> int:
    """Read how many migrations a file has had."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_storable(name: str, text: str) -> None:
    """Raise SetupError for a text with half a character, which no store takes, or with a NUL.

    SQLite takes a NUL, and its own tools cut such a text off there; PostgreSQL does not take one.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise half_a_character(error, name) from error
    if "\0" in text:
        step = "send it without; a text that is full of them may be UTF-16: save it as UTF-8"
        raise SetupError(f"{name} holds a NUL character", step)


def half_a_character(error: UnicodeEncodeError, name: str = "a name or text") -> SetupError:
    """Make the error for a text that a store did not take: half a pair of surrogates cannot be encoded."""
    around = error.object[max(0, error.start - 20) : error.end + 20]
    cause = f"{name} holds half a character (a lone surrogate), in {around!a}"
    return SetupError(cause, "send it as valid UTF-8")
