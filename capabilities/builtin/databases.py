"""SQLite databases of the user, opened so that a statement can do what it is for and nothing else.

SQLite opens a file by its path, and its journals beside it. A folder on the way could be turned into
a link meanwhile, so a database lies directly in the workspace, or where the settings say.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from planwright.capabilities.call_context import CallContext
from planwright.graph.errors import CapabilityForbidden, CapabilityRejected, CapabilityUnavailable

LOCK_S = 5.0
_STEPS = 1000  # of SQLite's machine between two looks at the clock
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


class Watch:
    """What a statement may do and for how long; knows why it was stopped, and whether it does anything."""

    def __init__(self, database: sqlite3.Connection, allowed: frozenset[int], seconds: float) -> None:
        self.refused = ""
        self.asked = False
        self.late = False
        self._allowed = allowed
        self._functions = _innocuous(database)
        self._until = time.monotonic() + seconds

    def rule(
        self, action: int, first: str | None, second: str | None, database: str | None, inner: str | None
    ) -> int:
        """Allow or deny one thing a statement would do (sqlite3_set_authorizer)."""
        self.asked = True
        if action == sqlite3.SQLITE_FUNCTION:
            name = (second or "").lower()
            if name in self._functions or name.startswith(_RENAMING):
                return sqlite3.SQLITE_OK
        where = first if action == sqlite3.SQLITE_ALTER_TABLE else database
        if action in self._allowed and (where in ("main", None) or first == "sqlite_temp_master"):
            return sqlite3.SQLITE_OK  # ALTER TABLE looks for the table among temporary ones, too
        self.refused = _ACTIONS.get(action, str(action)) + "".join(f" {x}" for x in (first, second) if x)
        return sqlite3.SQLITE_DENY

    def interrupt(self) -> int:
        """Stop a statement that is late (sqlite3_progress_handler)."""
        self.late = time.monotonic() > self._until
        return int(self.late)


@contextmanager
def opened(
    name: str, call: CallContext, *, write: bool = False, seconds: float
) -> Iterator[tuple[sqlite3.Connection, Watch]]:
    """Open a database under watch. Raises what the gateway understands for all that goes wrong in it."""
    path = find(name, call)
    try:
        database = sqlite3.connect(
            f"file:{quote(str(path))}?mode={'rw' if write else 'ro'}",
            uri=True,
            isolation_level=None,
            timeout=LOCK_S,
            cached_statements=0,
        )
    except sqlite3.Error as error:
        raise CapabilityRejected(f"cannot open {name}: {error}") from error
    watch = None
    try:
        _harden(database, path)
        watch = Watch(database, _WRITING if write else _READING, seconds)
        database.set_progress_handler(watch.interrupt, _STEPS)
        yield database, watch
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
        raise _told(error, name, watch) from error
    finally:
        database.close()


def find(name: str, call: CallContext) -> Path:
    """Find a database: one the settings name, or a file directly in the workspace.

    Raises CapabilityRejected where there is none, and CapabilityForbidden for what is not the user's own.
    """
    listed, root = call.settings.sources.databases.get(name), call.workspace.root
    if listed is None:
        parts = call.workspace.check(name, write=True)
        if len(parts) != 1:
            raise CapabilityForbidden(
                f"{name!r} does not lie directly in the workspace",
                f'name it in planwright.toml: [sources.databases] crm = "{name}", and use the name crm',
            )
        path = root / parts[0]
    else:
        path = Path(os.path.realpath(root / listed))
    if path.is_relative_to(Path(os.path.realpath(call.settings.store_folder))):
        raise CapabilityForbidden(f"{name!r} belongs to the program")
    try:
        found = os.lstat(path)
    except OSError as error:
        raise CapabilityRejected(
            f"there is no database {name}", "see what is there with: files.list"
        ) from error
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        raise CapabilityForbidden(f"{name!r} is no plain file of its own: a link, a pipe or a folder")
    return path


def _harden(database: sqlite3.Connection, path: Path) -> None:
    """Close every way out of a database that SQLite has, and see that it opened the file that was meant."""
    for limit, value in _LIMITS.items():
        database.setlimit(limit, value)
    opened_path = database.execute("PRAGMA database_list").fetchone()[2]
    if os.path.normpath(opened_path) != str(path):
        raise CapabilityForbidden(f"{path.name} turned into a link while it was opened")
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY"):
        database.execute(f"PRAGMA {pragma}").close()


def _innocuous(database: sqlite3.Connection) -> frozenset[str]:
    rows = database.execute("SELECT name, flags FROM pragma_function_list WHERE builtin")
    built_in = ((str(name).lower(), flags) for name, flags in rows)
    harmless = (name for name, flags in built_in if flags & _INNOCUOUS or name.startswith(_JSON))
    return frozenset((*_RANKING, *harmless))


def _told(error: Exception, name: str, watch: Watch | None) -> Exception:
    """Say what went wrong, in the words of the caller's next step."""
    said = str(error)
    if watch and watch.late:
        return CapabilityRejected("the statement took too long and was stopped", "ask for less")
    if watch and watch.refused and re.search(r"not authorized|prohibited", said):
        return CapabilityForbidden(f"a statement here may not: {watch.refused}")
    if "locked" in said or "busy" in said:
        return CapabilityUnavailable(f"{name} is locked by another program")
    return CapabilityRejected(f"{name}: {said}")


_ACTIONS = {
    value: name.removeprefix("SQLITE_").replace("_", " ")
    for name, value in vars(sqlite3).items()
    if re.fullmatch(
        r"SQLITE_(CREATE|DROP|ALTER)_\w+|SQLITE_(ATTACH|DETACH|PRAGMA|TRANSACTION|SAVEPOINT|FUNCTION|ANALYZE"
        r"|INSERT|UPDATE|DELETE|READ|SELECT|REINDEX|RECURSIVE)",
        name,
    )
}
