"""Who uses a store at the moment: processes that work on a run, and programs that have a file of it open."""

from __future__ import annotations

import fcntl
import os
from contextlib import closing
from pathlib import Path

from planwright.domain.errors import RunError
from planwright.store.owners import Owner, Owners, folder_of, owner_of
from planwright.store.store_errors import BROKEN
from planwright.store.store_files import RECORDS, read_only

# Where a connection locks the file of a database; one in WAL mode does as long as it is open
# (sqlite.org/src/file/src/os.h: PENDING_BYTE + 2, SHARED_SIZE).
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510


def refuse_while_used(folder: Path, *, even_open: bool) -> None:
    """Raise RunError while a living process works on a run; with `even_open`, while any has a file open.

    A file that cannot be read tells of no run; who has it open is seen all the same.
    """
    for run_id, owner in _worked_on(folder):
        raise RunError(
            f"run {run_id} is being worked on by {owner.label}",
            f"wait for its end, or: planwright cancel {run_id}",
        )
    if even_open and is_open(folder / RECORDS):
        raise RunError(
            f"another program has {folder / RECORDS} open",
            "end it (planwright studio, a program of yours, a database browser), then try again",
        )


def _worked_on(folder: Path) -> list[tuple[str, Owner]]:
    query = "SELECT run_id, owner FROM runs WHERE owner IS NOT NULL AND lease_until > 0"
    try:
        with closing(read_only(folder / RECORDS)) as connection:
            rows = connection.execute(query).fetchall()
    except BROKEN:
        return []
    owners = Owners(folder_of(folder / RECORDS))
    return [(run_id, owner_of(owner)) for run_id, owner in rows if owners.life_of(owner) != "dead"]


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
