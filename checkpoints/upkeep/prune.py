"""Remove the checkpoints of a store that nobody goes back to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from planwright.checkpoints.store_errors import BROKEN, refuse_newer, store_error, store_version
from planwright.checkpoints.thread_state.pruning import keep_newest
from planwright.checkpoints.upkeep.store_files import FILES, RECORDS, no_store
from planwright.checkpoints.upkeep.store_use import refuse_while_used
from planwright.domain.errors import SetupError


def prune_store(folder: Path, most: int, busy_timeout_s: float = 30) -> int:
    """Keep the newest `most` checkpoints of each thread, and of threads at rest no lanes; count what went.

    Raises RunError while a process works on a run, SetupError for a store of another version, and for none.
    """
    path = folder / RECORDS
    if not path.is_file():
        raise no_store(folder)
    refuse_while_used(folder, even_open=False)
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with closing(
            sqlite3.connect(uri, uri=True, isolation_level=None, timeout=busy_timeout_s)
        ) as connection:
            refuse_newer(path, connection, FILES[RECORDS])
            if store_version(connection) < FILES[RECORDS]:
                raise SetupError(
                    f"{path} is of an older planwright",
                    "begin a run, which brings it up to date: planwright run",
                )
            connection.execute("BEGIN IMMEDIATE")
            query = "SELECT DISTINCT thread_id FROM runs WHERE ended_at IS NULL"
            at_work = {row[0] for row in connection.execute(query)}
            threads = connection.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall()
            gone = sum(
                keep_newest(connection, thread, most, ended=thread not in at_work) for (thread,) in threads
            )
            connection.execute("COMMIT")
            return gone
    except BROKEN as error:
        raise store_error(path, error) from error
