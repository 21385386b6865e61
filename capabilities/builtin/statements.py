"""One SQL statement on one database file, as the sandbox runs it, so that it does what it is for and no more.

SQLite looks at its progress handler between two steps of its machine, and one step may be a second of
`printf('%.*c', 999999999, 'x')`: only the end of the process ends that. Until COMMIT nothing has changed.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from planwright.capabilities.builtin.csv_tables import is_csv, load
from planwright.domain.errors import (
    CapabilityForbidden,
    CapabilityRejected,
    CapabilityUnavailable,
    EffectInDoubt,
)
from planwright.sandbox.child import to_the_end

Scalar = str | int | float | bool | None
Row = dict[str, Scalar]
Parameters = Sequence[Scalar] | Mapping[str, Scalar]
MOST_ROWS, MOST_BYTES = 1000, 5_000_000
_INNOCUOUS = 0x200000  # SQLITE_INNOCUOUS: no effect outside the statement, https://sqlite.org/pragma.html
_JSON = ("json", "->")  # harmless, and not marked so before SQLite 3.42
_RANKING = ("bm25", "highlight", "snippet", "matchinfo", "offsets", "match")
_RENAMING = ("sqlite_rename_", "sqlite_drop_column", "sqlite_add_constraint")  # ALTER TABLE, from inside
_READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE))
_WRITING = _READING | {
    sqlite3.SQLITE_INSERT,
    sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE,
    sqlite3.SQLITE_CREATE_TABLE,
    sqlite3.SQLITE_DROP_TABLE,
    sqlite3.SQLITE_ALTER_TABLE,
    sqlite3.SQLITE_CREATE_INDEX,
    sqlite3.SQLITE_DROP_INDEX,
    sqlite3.SQLITE_CREATE_VIEW,
    sqlite3.SQLITE_DROP_VIEW,
    sqlite3.SQLITE_REINDEX,  # part of CREATE INDEX
}
_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LENGTH: 2_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class StatementWatch:
    """What a statement may do; knows what it was refused, and whether it does anything."""

    def __init__(self, database: sqlite3.Connection, allowed: frozenset[int]) -> None:
        self.refused = ""
        self.acted = False
        self._allowed = allowed
        self._functions = _innocuous(database)

    def authorize(
        self, action: int, first: str | None, second: str | None, database: str | None, inner: str | None
    ) -> int:
        """Allow or deny one thing a statement would do (sqlite3_set_authorizer)."""
        self.acted = True
        if action == sqlite3.SQLITE_FUNCTION:
            name = (second or "").lower()
            if name in self._functions or name.startswith(_RENAMING):
                return sqlite3.SQLITE_OK
        where = first if action == sqlite3.SQLITE_ALTER_TABLE else database
        if action in self._allowed and (where in ("main", None) or first == "sqlite_temp_master"):
            return sqlite3.SQLITE_OK  # ALTER TABLE looks for the table among temporary ones, too
        self.refused = _ACTIONS.get(action, str(action)) + "".join(f" {x}" for x in (first, second) if x)
        return sqlite3.SQLITE_DENY


def query(
    path: str, name: str, lock_s: float, statement: str, parameters: Parameters, limit: int
) -> tuple[list[str], list[Row], bool]:
    """Read columns and up to `limit` rows, and whether there are more; raises as `_opened`."""
    with _opened(path, name, lock_s) as (connection, watch):
        connection.execute("PRAGMA query_only=ON").close()
        connection.set_authorizer(watch.authorize)
        cursor = connection.execute(statement, parameters)
        if cursor.description is None:
            raise CapabilityRejected(
                "the statement returns no rows", "write a SELECT; sql.execute changes data"
            )
        return _fetch(cursor, limit)


def tables(path: str, name: str, lock_s: float, most: int) -> dict[str, list[str]]:
    """List the columns of up to `most` tables and views, by table; raises as `_opened`."""
    listing = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
    listing += " AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
    with _opened(path, name, lock_s) as (connection, _):
        connection.execute("PRAGMA query_only=ON").close()
        names = [row[0] for row in connection.execute(f"{listing} ORDER BY name LIMIT {most:d}")]
        columns = "SELECT name FROM pragma_table_info(?) ORDER BY cid LIMIT ?"
        return {table: [row[0] for row in connection.execute(columns, (table, most))] for table in names}


def execute(
    path: str, name: str, lock_s: float, statement: str, parameters: Parameters
) -> tuple[int, list[Row]]:
    """Change a database, and return how many rows were changed and those returned; raises as `_opened`."""
    with _opened(path, name, lock_s, write=True) as (connection, watch):
        connection.execute("BEGIN IMMEDIATE")
        before = connection.total_changes
        connection.set_authorizer(watch.authorize)
        _, rows, _ = _fetch(connection.execute(statement, parameters), MOST_ROWS)
        if not watch.acted:
            raise CapabilityRejected("there is no statement", "write one SQL statement")
        connection.set_authorizer(None)
        changed = connection.total_changes - before
        with to_the_end():
            _commit(connection, name)
    return changed, rows


def take_back(path: str, name: str, lock_s: float) -> None:
    """Take back what a process had begun that was ended: SQLite does that itself when the file is read."""
    with to_the_end(), _opened(path, name, lock_s, write=True) as (connection, _):
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


@contextmanager
def _opened(
    path: str, name: str, lock_s: float, *, write: bool = False
) -> Iterator[tuple[sqlite3.Connection, StatementWatch]]:
    """Open a database under watch. Raises what the gateway understands for all that goes wrong in it."""
    table = is_csv(path)
    if table and write:
        raise CapabilityRejected(f"{name} is read, not changed, by SQL", "documents.create writes a CSV file")
    try:
        database = sqlite3.connect(
            ":memory:" if table else f"file:{quote(path)}?mode={'rw' if write else 'ro'}",
            uri=True,
            isolation_level=None,
            timeout=lock_s,
            cached_statements=0,
        )
    except sqlite3.Error as error:
        raise CapabilityRejected(f"cannot open {name}: {error}") from error
    watch = None
    try:
        if table:
            load(database, Path(path))
        _harden(database, Path(path), in_memory=table)
        watch = StatementWatch(database, _WRITING if write else _READING)
        yield database, watch
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
        raise _failure(error, name, watch) from error
    finally:
        database.close()


def _commit(connection: sqlite3.Connection, database: str) -> None:
    """Commit; until then nothing has changed, and closing the database takes everything back."""
    try:
        connection.execute("COMMIT")
    except MemoryError as error:
        raise EffectInDoubt(
            f"{database}: no memory was left while the change was being kept", "look into the database"
        ) from error
    except sqlite3.Error as error:
        if "locked" in str(error) or "busy" in str(error):
            raise CapabilityUnavailable(f"{database} is locked by another program") from error
        if "constraint" in str(error).lower():
            raise CapabilityRejected(f"{database}: {error}") from error
        raise EffectInDoubt(
            f"{database}: {error}, while the change was being kept", "look into the database"
        ) from error


def _fetch(cursor: sqlite3.Cursor, limit: int) -> tuple[list[str], list[Row], bool]:
    """Read up to `limit` rows, and say whether there are more. All changes are made before the first."""
    columns: list[str] = []
    for entry in cursor.description or ():
        name, number = str(entry[0]), len(columns) + 1
        while name in columns:
            name, number = f"{entry[0]}_{number}", number + 1
        columns.append(name)
    rows: list[Row] = []
    size = 0
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(rows) == limit or size > MOST_BYTES:
            cursor.close()
            return columns, rows, True
        rows.append(dict(zip(columns, map(_json, row), strict=True)))
    return columns, rows, False


def _json(value: Scalar | bytes) -> Scalar:
    if isinstance(value, bytes):
        return f"{len(value)} bytes: {value[:32].hex()}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _harden(database: sqlite3.Connection, path: Path, *, in_memory: bool) -> None:
    """Close every way out of a database that SQLite has, and see that it opened the file that was meant."""
    for limit, value in _LIMITS.items():
        database.setlimit(limit, value)
    opened_path = database.execute("PRAGMA database_list").fetchone()[2]
    if not in_memory and os.path.normpath(opened_path) != str(path):
        raise CapabilityForbidden(f"{path.name} turned into a link while it was opened")
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY"):
        database.execute(f"PRAGMA {pragma}").close()


def _innocuous(database: sqlite3.Connection) -> frozenset[str]:
    rows = database.execute("SELECT name, flags FROM pragma_function_list WHERE builtin")
    built_in = ((str(name).lower(), flags) for name, flags in rows)
    harmless = (name for name, flags in built_in if flags & _INNOCUOUS or name.startswith(_JSON))
    return frozenset((*_RANKING, *harmless))


def _failure(error: Exception, name: str, watch: StatementWatch | None) -> Exception:
    """Say what went wrong, in the words of the caller's next step."""
    text = str(error)
    if watch and watch.refused and re.search(r"not authorized|prohibited", text):
        return CapabilityForbidden(f"a statement here may not: {watch.refused}")
    if "locked" in text or "busy" in text:
        return CapabilityUnavailable(f"{name} is locked by another program")
    return CapabilityRejected(f"{name}: {text}")


_ACTIONS = {
    value: name.removeprefix("SQLITE_").replace("_", " ")
    for name, value in vars(sqlite3).items()
    if re.fullmatch(
        r"SQLITE_(CREATE|DROP|ALTER)_\w+|SQLITE_(ATTACH|DETACH|PRAGMA|TRANSACTION|SAVEPOINT|FUNCTION|ANALYZE"
        r"|INSERT|UPDATE|DELETE|READ|SELECT|REINDEX|RECURSIVE)",
        name,
    )
}
