"""Where a store comes from: this machine, or a folder that somebody else wrote.

A database is given a random id when it is made, and the id is trusted on this machine. What else is believed
in the folder of a store is trusted by its content when a command of ours writes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from planwright.domain.errors import PlanwrightError, SetupError
from planwright.store.folder_trust import Brought, FolderTrust
from planwright.store.migrations import MIGRATIONS
from planwright.store.store_errors import BROKEN
from planwright.store.store_files import read_only

DATABASES = ("planwright.db",)
BELIEVED = {
    "allow.jsonl": "lets calls be made unasked",
    "delegations.jsonl": "delegates calls",
    "tools.jsonl": "says what tools may do",
    "fence.key": "tells prompts where a text of others ends",
    "server.token": "lets in at the server",
}
"""Files of a store whose content is believed, and what they do."""
OURS = "planwright"
"""Who gives trust to what a command of ours has written."""
MOST_ID = 2**31 - 1
"""Greatest application id of a database (sqlite.org/pragma.html)."""
HEADER_BYTES, ID_BYTES = 100, slice(68, 72)


def brought_by_store(folder: Path) -> Iterator[Brought]:
    """List what the folder of a store brings along.

    A damaged database is left out: opening it says what is wrong. So is one without a table: it is only
    just begun.
    """
    for name in DATABASES:
        if (folder / name).is_file() and (id_ := _id_in(folder / name)) is not None:
            yield _database(name, id_)
    for name in BELIEVED:
        path = folder / name
        if path.is_file():
            yield believed(name, path.read_bytes())


def check_origin(connection: sqlite3.Connection, path: Path) -> None:
    """Raise SetupError for a database with a trigger or view that is not ours, and for one of elsewhere.

    One that a person trusts is of here; one without any table is only just begun.
    """
    objects = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    foreign = [name for kind, name, sql in objects if kind in ("trigger", "view") and sql not in _triggers()]
    if foreign:
        cause = f"{path} has a trigger or view that is not of Planwright, which changes what is on record"
        raise SetupError(f"{cause}: {foreign[0]}", f"drop it, if you know it: DROP TRIGGER {foreign[0]}")
    thing = _database(path.name, _id_of(connection))
    if objects and not FolderTrust(path.parent).covers(thing.name, thing.digest):
        cause = f"{path} was not made on this machine, or lay elsewhere, and nobody trusts it"
        raise SetupError(cause, "look at it, and trust it: planwright trust")


def believed(name: str, content: bytes) -> Brought:
    """Name a file of a store whose content is believed."""
    digest = hashlib.sha256(content).hexdigest()
    return Brought(name, "opens", f"{content.count(chr(10).encode())} lines, {BELIEVED[name]}", digest)


def begin_here(connection: sqlite3.Connection, path: Path) -> None:
    """Give a new database its id, in the transaction that makes its tables, and trust that."""
    id_ = secrets.randbelow(MOST_ID) + 1
    connection.execute(f"PRAGMA application_id={id_}")
    trust_own(path.parent, _database(path.name, id_))


def trust_own(folder: Path, thing: Brought) -> None:
    """Trust what a command of ours has written into the folder of a store."""
    FolderTrust(folder).give([thing], OURS)


def _database(name: str, id_: int) -> Brought:
    shows = "approvals, plans, queued runs and memories" + (f" ({id_:08x})" if id_ else "")
    return Brought(name, "opens", shows, hashlib.sha256(f"{id_}".encode()).hexdigest())


def _id_in(path: Path) -> int | None:
    """Read the id of a database; None for one without a table, and for what is damaged."""
    try:
        with contextlib.closing(read_only(path)) as connection:
            return _id_of(connection) if _has_tables(connection) else None
    except sqlite3.OperationalError:  # as of a log in a folder that cannot be written to
        return _id_in_header(path)
    except (PlanwrightError, *BROKEN):
        return None


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def _id_in_header(path: Path) -> int | None:
    """Read the id where SQLite keeps it (sqlite.org/fileformat.html, 1.3.18); None where none can be."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
    except OSError:
        return None  # then opening it is refused, too
    return int.from_bytes(header[ID_BYTES], "big") if header.startswith(b"SQLite format 3\0") else None


def _id_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


@cache
def _triggers() -> frozenset[str]:
    """List the triggers that migrations make, as SQLite keeps them."""
    statements = (part.strip() for script in MIGRATIONS for part in script.split(";\n"))
    return frozenset(part.rstrip(";") for part in statements if part.startswith("CREATE TRIGGER"))
