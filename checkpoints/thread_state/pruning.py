"""Remove checkpoints that nobody goes back to, and the contents that only they needed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from planwright.checkpoints.thread_state.layout import (
    AT,
    KIND,
    LOG,
    MOST_PARAMETERS,
    NAMED,
    Place,
    items_of,
    refs_in,
)

TABLES = ("checkpoints", "writes", "contents")
_PLACE = "thread_id, checkpoint_ns, checkpoint_id"
_OF_RUN = "json_extract(CAST(metadata AS TEXT), '$.run_id') = ?"


def delete_thread(connection: sqlite3.Connection, thread_id: str) -> None:
    """Remove all of a thread."""
    for table in TABLES:
        connection.execute(f"DELETE FROM {table} WHERE thread_id = ?", (thread_id,))


def copy_thread(connection: sqlite3.Connection, source: str, target: str) -> None:
    """Copy all checkpoints of a thread to another, in the order in which they were written."""
    for table in TABLES:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        names = ", ".join(name for name in columns if name != "thread_id")
        order = "" if table == "contents" else " ORDER BY rowid"
        connection.execute(
            f"INSERT OR REPLACE INTO {table} (thread_id, {names})"
            f" SELECT ?, {names} FROM {table} WHERE thread_id = ?{order}",
            (target, source),
        )


def threads_with(connection: sqlite3.Connection, run_id: str) -> set[str]:
    """Name the threads of the checkpoints that `delete_runs` would remove for a run."""
    query = f"SELECT DISTINCT thread_id FROM checkpoints WHERE {_OF_RUN}"
    return {row[0] for row in connection.execute(query, (run_id,))}


def delete_runs(connection: sqlite3.Connection, run_ids: Iterable[str]) -> None:
    """Remove the checkpoints whose metadata name one of these runs."""
    query = f"SELECT {_PLACE} FROM checkpoints WHERE {_OF_RUN}"
    for run_id in run_ids:
        _delete(connection, connection.execute(query, (run_id,)).fetchall())


def prune(connection: sqlite3.Connection, thread_ids: Iterable[str], strategy: str) -> None:
    """Remove checkpoints as LangGraph's contract names it. Raises ValueError for an unknown strategy."""
    for thread_id in thread_ids:
        if strategy == "delete":
            delete_thread(connection, thread_id)
        elif strategy == "keep_latest":
            keep_newest(connection, thread_id, 1)
        else:
            raise ValueError(f"the strategy {strategy} is neither keep_latest nor delete")


def keep_newest(connection: sqlite3.Connection, thread_id: str, most: int, ended: bool = False) -> int:
    """Remove all but the newest `most` checkpoints of each namespace; return how many are gone.

    Where the runs of a thread have `ended`, the namespaces of lanes go as a whole.
    """
    query = (
        f"SELECT {_PLACE}, row_number() OVER (PARTITION BY checkpoint_ns ORDER BY rowid DESC) AS place"
        " FROM checkpoints WHERE thread_id = ?"
    )
    rows = connection.execute(
        f"SELECT {_PLACE} FROM ({query}) numbered WHERE place > ? OR (? AND checkpoint_ns <> '')",
        (thread_id, most, ended),
    ).fetchall()
    _delete(connection, rows)
    return len(rows)


def keep_newest_of_lane(connection: sqlite3.Connection, parent: Place) -> None:
    """Remove what lies before the parent of the newest checkpoint of a lane; its contents stay for now."""
    query = (
        f"SELECT {_PLACE} FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = :lane AND rowid <"
        " (SELECT rowid FROM checkpoints WHERE thread_id = :thread AND checkpoint_ns = :lane"
        " AND checkpoint_id = :parent)"
    )
    names = dict(zip(("thread", "lane", "parent"), parent, strict=True))
    _delete_rows(connection, connection.execute(query, names).fetchall())


def _delete(connection: sqlite3.Connection, places: list[Place]) -> None:
    _delete_rows(connection, places)
    for thread_id in {place[0] for place in places}:
        collect(connection, thread_id)


def _delete_rows(connection: sqlite3.Connection, places: Iterable[Place]) -> None:
    rows = [tuple(place) for place in places]
    for table in ("checkpoints", "writes"):
        connection.executemany(f"DELETE FROM {table} WHERE {AT}", rows)


def collect(connection: sqlite3.Connection, thread_id: str) -> None:
    """Remove the contents of a thread that no checkpoint of it needs any more."""
    of_thread = (thread_id,)
    query = "SELECT checkpoint FROM checkpoints WHERE thread_id = ? AND type = ?"
    live = {ref for (payload,) in connection.execute(query, (thread_id, KIND)) for ref in refs_in(payload)}
    query = "SELECT value FROM writes WHERE thread_id = ? AND type = ?"
    live |= {digest for (digest,) in connection.execute(query, (thread_id, NAMED))}
    query = "SELECT hash, value FROM contents WHERE thread_id = ? AND type = ?"
    logs = connection.execute(query, (thread_id, LOG)).fetchall()
    live |= items_of(index for digest, index in logs if digest in live)
    every = [row[0] for row in connection.execute("SELECT hash FROM contents WHERE thread_id = ?", of_thread)]
    unused = [digest for digest in every if digest not in live]
    for start in range(0, len(unused), MOST_PARAMETERS):
        some = unused[start : start + MOST_PARAMETERS]
        marks = ",".join("?" * len(some))
        query = f"DELETE FROM contents WHERE thread_id = ? AND hash IN ({marks})"
        connection.execute(query, (thread_id, *some))
