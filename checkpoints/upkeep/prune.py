"""Remove the checkpoints of a store that nobody goes back to."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

from planwright.checkpoints.store_errors import BROKEN, refuse_newer, store_error, store_version
from planwright.checkpoints.thread_state.pruning import keep_newest
from planwright.checkpoints.upkeep.store_files import FILES, RECORDS, no_store
from planwright.checkpoints.upkeep.store_use import refuse_while_used
from planwright.domain.errors import SetupError
from planwright.settings.workspace import StorageSettings

_THREADS = """SELECT c.thread_id, coalesce(max(r.tenant), 'default') AS tenant, max(r.ended_at) AS ended_at,
    coalesce(sum(r.ended_at IS NULL), 0) AS open FROM (SELECT DISTINCT thread_id FROM checkpoints) c
    LEFT JOIN runs r USING (thread_id) GROUP BY c.thread_id"""
_UNDECIDED = """SELECT thread_id FROM gates WHERE status = 'open'
    UNION SELECT thread_id FROM effects WHERE status IN ('intent', 'in_doubt')"""


def prune_store(folder: Path, storage: StorageSettings, now: datetime, keep: int | None = None) -> int:
    """Keep the newest checkpoints of each thread, and of threads at rest no lanes; count what went.

    How many stay, and for how many days, the settings say for the tenant of a thread; `keep` overrides the
    number for all. The days are not counted while a run of a thread is open, or anything of it undecided.
    Only checkpoints go: no record of a run, a gate, an effect or the audit chain is among them.

    Raises RunError while a process works on a run, SetupError for a store of another version, and for none.
    """
    path = folder / RECORDS
    if not path.is_file():
        raise no_store(folder)
    refuse_while_used(folder, even_open=False)
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with closing(
            sqlite3.connect(uri, uri=True, isolation_level=None, timeout=storage.busy_timeout_s)
        ) as connection:
            connection.row_factory = sqlite3.Row
            refuse_newer(path, connection, FILES[RECORDS])
            if store_version(connection) < FILES[RECORDS]:
                raise SetupError(
                    f"{path} is of an older planwright",
                    "begin a run, which brings it up to date: planwright run",
                )
            connection.execute("BEGIN IMMEDIATE")
            undecided = {row[0] for row in connection.execute(_UNDECIDED)}
            gone = 0
            for thread in connection.execute(_THREADS).fetchall():
                rests = not thread["open"] and thread["thread_id"] not in undecided
                most = keep or storage.checkpoints_of(thread["tenant"])
                if rests and _is_past(thread["ended_at"], storage.days_of(thread["tenant"]), now):
                    most = 1
                gone += keep_newest(connection, thread["thread_id"], most, ended=not thread["open"])
            connection.execute("COMMIT")
            return gone
    except BROKEN as error:
        raise store_error(path, error) from error


def _is_past(ended_at: str | None, days: float | None, now: datetime) -> bool:
    """Say whether more days have gone by since an end than a thread is kept whole."""
    if ended_at is None or days is None:
        return False
    return now - datetime.fromisoformat(ended_at) > timedelta(days=days)
