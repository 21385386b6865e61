"""Remove the checkpoints of a store that nobody goes back to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from planwright.checkpoints.thread_state.pruning import keep_newest
from planwright.settings.workspace import StorageSettings
from planwright.store.database import Database
from planwright.store.store_errors import BROKEN, refuse_other, store_error
from planwright.store.store_files import RECORDS, VERSION, no_store, read_write
from planwright.upkeep.store_use import refuse_while_used

_THREADS = """SELECT c.thread_id, coalesce(max(r.tenant), 'default') AS tenant, max(r.ended_at) AS ended_at,
    sum(CASE WHEN r.ended_at IS NULL THEN 1 ELSE 0 END) AS open,  -- a thread without runs counts as open
    coalesce(max(r.lease_until), 0) AS lease_until
    FROM (SELECT DISTINCT thread_id FROM checkpoints{where}) c
    LEFT JOIN runs r USING (thread_id) GROUP BY c.thread_id"""
_UNDECIDED = """SELECT thread_id FROM (SELECT thread_id FROM gates WHERE status = 'open' UNION ALL
    SELECT thread_id FROM effects WHERE status IN ('intent', 'in_doubt')) AS undecided{where}"""
_OF_ONE = " WHERE thread_id = :id"


@dataclass(frozen=True)
class Retention:
    """How much of a thread stays."""

    storage: StorageSettings
    """Numbers and days of each tenant."""
    now: datetime
    """Time that the days are counted back from."""
    keep: int | None = None
    """How many checkpoints stay, whatever the settings say; None for what they say."""

    def most(self, thread: sqlite3.Row, *, decided: bool) -> int:
        """Say how many checkpoints of a thread stay; its days do not count while anything of it is open."""
        if not thread["open"] and decided:
            days = self.storage.days_of(thread["tenant"])
            if _is_past(thread["ended_at"], days, self.now):
                return 1
        return self.keep or self.storage.checkpoints_of(thread["tenant"])


def prune_store(folder: Path, retention: Retention) -> int:
    """Keep the newest checkpoints of each thread, and of threads at rest no lanes; count what went.

    Only checkpoints go: no record of a run, a gate, an effect or the audit chain is among them.

    Raises RunError while a process works on a run, SetupError for a store of another version, and for none.
    """
    path = folder / RECORDS
    if not path.is_file():
        raise no_store(folder)
    refuse_while_used(folder, even_open=False)
    try:
        with closing(read_write(path, retention.storage.busy_timeout_s)) as connection:
            connection.row_factory = sqlite3.Row
            refuse_other(path, connection, VERSION)
            connection.execute("BEGIN IMMEDIATE")
            gone = _prune(connection, _rows(connection, _THREADS), retention)
            connection.execute("COMMIT")
            return gone
    except (*BROKEN, OSError) as error:
        raise store_error(path, error) from error


async def prune_in_use(database: Database, retention: Retention) -> int:
    """Do the same in a store that others work in meanwhile, thread by thread; count what went.

    A thread whose run is open or held by a process is left alone: the end of that run prunes it. So is one
    without runs, of a graph that is not ours: nobody knows whether somebody is at it.
    """
    query = "SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id"
    threads = await database.read(lambda connection: [row[0] for row in connection.execute(query).fetchall()])
    gone = 0
    for thread_id in threads:
        gone += await database.run("prune", partial(_prune_at_rest, thread_id=thread_id, retention=retention))
    return gone


def _prune_at_rest(connection: sqlite3.Connection, thread_id: str, retention: Retention) -> int:
    threads = _rows(connection, _THREADS, thread_id)
    at_rest = (thread for thread in threads if not thread["open"] and not thread["lease_until"])
    return _prune(connection, at_rest, retention, thread_id)


def _prune(
    connection: sqlite3.Connection,
    threads: Iterable[sqlite3.Row],
    retention: Retention,
    which: str | None = None,
) -> int:
    """Prune threads in one transaction; `which` names the only one, None any."""
    undecided = {row[0] for row in _rows(connection, _UNDECIDED, which)}
    gone = 0
    for thread in threads:
        most = retention.most(thread, decided=thread["thread_id"] not in undecided)
        gone += keep_newest(connection, thread["thread_id"], most, ended=not thread["open"])
    return gone


def _rows(connection: sqlite3.Connection, query: str, which: str | None = None) -> list[sqlite3.Row]:
    """Ask for one thread, or for all: one query for both would use no index."""
    if which is None:
        return connection.execute(query.format(where="")).fetchall()
    return connection.execute(query.format(where=_OF_ONE), {"id": which}).fetchall()


def _is_past(ended_at: str | None, days: float | None, now: datetime) -> bool:
    """Say whether more days have gone by since an end than a thread is kept whole."""
    if ended_at is None or days is None:
        return False
    return now - datetime.fromisoformat(ended_at) > timedelta(days=days)
