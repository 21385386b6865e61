"""Give the space of deleted rows back to the disk."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from planwright.store.store_errors import BROKEN, refuse_other, store_error
from planwright.store.store_files import RECORDS, VERSION, no_store, read_write
from planwright.upkeep.store_use import refuse_while_used


@dataclass(frozen=True)
class Vacuumed:
    """One file, and its size in bytes before and after."""

    file: str
    """Name of the file."""
    before: int
    """Its size in bytes before."""
    after: int
    """Its size in bytes after."""


def vacuum(folder: Path, busy_timeout_s: float = 30) -> list[Vacuumed]:
    """Write the database anew, without gaps. Raises RunError while a process works on a run."""
    if not (folder / RECORDS).is_file():
        raise no_store(folder)
    refuse_while_used(folder, even_open=False)
    return [_vacuum(folder / RECORDS, busy_timeout_s)]


def _vacuum(path: Path, busy_timeout_s: float) -> Vacuumed:
    try:
        with closing(read_write(path, busy_timeout_s)) as connection:
            refuse_other(path, connection, VERSION)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            before = path.stat().st_size
            connection.execute("VACUUM")
            for (index,) in connection.execute("SELECT name FROM sqlite_master WHERE name = 'memories_fts'"):
                # VACUUM may number rows anew (sqlite.org/lang_vacuum.html); the index goes by these numbers
                connection.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return Vacuumed(path.name, before, path.stat().st_size)
    except (*BROKEN, OSError) as error:
        raise store_error(path, error) from error
