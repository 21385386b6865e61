"""Copy all that a store holds into another, whichever of the two is a file: row by row, in their order."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from planwright.domain.errors import SetupError
from planwright.extras.postgres.errors import ServerError, StatementRefused
from planwright.extras.postgres.layout import TABLES
from planwright.store.blobs import Blobs
from planwright.store.engines.engine import Engine
from planwright.store.engines.sqlite import SqliteEngine
from planwright.store.migrations import MIGRATIONS

AT_ONCE = 500
"""Rows that are read and written together."""
FILE, FOLDER = "planwright.db", "blobs"


def copy_tables(source: sqlite3.Connection, target: sqlite3.Connection) -> dict[str, int]:
    """Copy every table into a store that nobody has used; both transactions are the caller's.

    Rows keep their numbers. Returns how many rows of each table there are in both. Raises SetupError where
    the target is in use, or holds another number of rows afterwards.
    """
    for table in TABLES:
        if target.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None:
            cause = f"there are rows of {table} in it already"
            raise SetupError(cause, "name a database or a schema that nobody has used")
    counts: dict[str, int] = {}
    for table, layout in TABLES.items():
        names = layout.columns if layout.key == ("n",) else ("rowid", *layout.columns)
        columns, marks = ", ".join(names), ", ".join("?" * len(names))
        rows = source.execute(f"SELECT {columns} FROM {table} ORDER BY rowid")
        while some := rows.fetchmany(AT_ONCE):
            target.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", list(map(tuple, some)))
        before, after = (_count(store, table) for store in (source, target))
        if before != after:
            raise SetupError(f"{table} has {after:,} rows there and {before:,} here", "try it again")
        counts[table] = after
    return counts


def number_on(target: sqlite3.Connection) -> None:
    """Let new rows in PostgreSQL be numbered after those that were copied."""
    for table in TABLES:
        target.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'rowid'), coalesce(max(rowid), 0) + 1, false)"
            f" FROM {table}"
        )


def copy_to_server(
    folder: Path, engine: Engine, check_unused: Callable[[], None]
) -> tuple[dict[str, int], int]:
    """Copy the store of a folder into a server, all or nothing; return the rows of each table, and the blobs.

    Nobody can write in the files meanwhile. Whoever waits to do so would write there what is not copied, so
    it is all undone where `check_unused` raises, before the end. Raises SetupError as `copy_tables` does.
    """
    with closing(engine.open()) as target:
        try:
            with closing(SqliteEngine(folder / FILE, MIGRATIONS, 30, None).open()) as source:
                source.execute("BEGIN IMMEDIATE")
                engine.begin(target, synced=True, one_by_one=True)
                counts = copy_tables(source, target)
                number_on(target)
                files = sorted((folder / FOLDER).glob("??/*"))  # a blob is there before the row that names it
                add = "INSERT OR IGNORE INTO blobs (hash, content) VALUES (?,?)"
                for file in files:
                    target.execute(add, (file.parent.name + file.name, file.read_bytes()))
            check_unused()
            target.execute("COMMIT")
        except BaseException:
            target.execute("ROLLBACK")
            raise
    return counts, len(files)


@contextmanager
def copied_from_server(engine: Engine) -> Iterator[Path]:
    """Copy a store in a server, as it is at one moment, into a private folder that lasts as long as this.

    Raises StoreFailed.
    """
    with (
        tempfile.TemporaryDirectory(prefix="planwright-") as name,
        closing(engine.open_to_read()) as source,
        closing(SqliteEngine(Path(name) / FILE, MIGRATIONS, 30, None).open()) as target,
    ):
        try:
            engine.begin_reading(source)
            target.execute("BEGIN IMMEDIATE")
            copy_tables(source, target)
            target.execute("COMMIT")
            _copy_blobs(source, Blobs(Path(name) / FOLDER))
        except (ServerError, StatementRefused) as error:  # a role that may not read some of it, say
            raise engine.failure(error) from error
        yield Path(name)


def _copy_blobs(source: sqlite3.Connection, target: Blobs) -> None:
    """Copy large contents one by one: a query for all would bring all of them into memory."""
    for (digest,) in source.execute("SELECT hash FROM blobs").fetchall():
        (content,) = source.execute("SELECT content FROM blobs WHERE hash = ?", (digest,)).fetchone()
        target.put_bytes(content)


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
