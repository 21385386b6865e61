"""Who uses a store at the moment: processes that work on a run, and programs that have a file of it open."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from planwright.checkpoints.ownership.owners import Owner, Owners, folder_of, owner_of
from planwright.checkpoints.store_errors import BROKEN
from planwright.checkpoints.thread_state.adoption import is_open
from planwright.checkpoints.upkeep.store_files import FILES, RECORDS, read_only
from planwright.domain.errors import RunError


def refuse_while_used(folder: Path, *, even_open: bool) -> None:
    """Raise RunError while a living process works on a run; with `even_open`, while any has a file open.

    A file that cannot be read tells of no run; who has it open is seen all the same.
    """
    for run_id, owner in _worked_on(folder):
        raise RunError(
            f"run {run_id} is being worked on by {owner.label}",
            f"wait for its end, or: planwright cancel {run_id}",
        )
    for name in FILES if even_open else ():
        if is_open(folder / name):
            raise RunError(
                f"another program has {folder / name} open",
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
