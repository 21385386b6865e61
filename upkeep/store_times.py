"""Whether records and checkpoints are of one time, or somebody put one in place without the other.

The records are written first. So a checkpoint that knows more than they do, and effects of a run that no
checkpoint began, come about in no crash.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from planwright.domain.errors import RunError
from planwright.store.database import Database
from planwright.store.marks.setback import UNKNOWN_ARGS


@dataclass(frozen=True)
class Checkpointed:
    """What the newest checkpoint of a thread knows: its run, the steps and gates of that, and its end."""

    thread_id: str
    """Id of the thread."""
    run_id: str | None = None
    """Id of its run; None where there is none yet."""
    ended: bool = False
    """Whether the checkpoint knows of the end of that run."""
    steps: frozenset[str] = frozenset()
    """Uids of the steps that it knows to have ended."""
    gates: frozenset[str] = frozenset()
    """Ids of the gates that it knows."""


async def refuse_two_times(database: Database, checkpointed: Checkpointed) -> None:
    """Raise RunError when a thread's newest checkpoint and what is on record of it are not of one time."""

    def job(connection: sqlite3.Connection) -> None:
        if (lacking := _records_lack(connection, checkpointed)) is not None:
            raise _older("records", "checkpoints", lacking)
        if (lacking := _checkpoints_lack(connection, checkpointed)) is not None:
            raise _older("checkpoints", "records", lacking)

    await database.read(job)


def _records_lack(connection: sqlite3.Connection, checkpointed: Checkpointed) -> str | None:
    if (run_id := checkpointed.run_id) is None:
        return None
    run = connection.execute("SELECT ended_at FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    if run is None:
        return f"run {run_id}"
    if checkpointed.ended and run["ended_at"] is None:
        return f"the end of run {run_id}"
    steps = {row[0] for row in connection.execute("SELECT uid FROM steps WHERE run_id = ?", (run_id,))}
    if checkpointed.steps - steps:
        return f"results of run {run_id}"
    gates = {row[0] for row in connection.execute("SELECT gate_id FROM gates WHERE run_id = ?", (run_id,))}
    return f"a gate of run {run_id}" if checkpointed.gates - gates else None


def _checkpoints_lack(connection: sqlite3.Connection, checkpointed: Checkpointed) -> str | None:
    """Name a run that has effects and no checkpoint; one that is cancelled only has to be closed."""
    query = "SELECT run_id, ended_at, cancelled_by FROM runs WHERE thread_id = ? ORDER BY rowid DESC LIMIT 1"
    run = connection.execute(query, (checkpointed.thread_id,)).fetchone()
    if run is None or run["run_id"] == checkpointed.run_id or run["ended_at"] or run["cancelled_by"]:
        return None
    query = "SELECT 1 FROM effects WHERE run_id = ? AND args <> ?"  # not those that only a mark tells of
    effects = connection.execute(query, (run["run_id"], UNKNOWN_ARGS)).fetchone()
    return f"run {run['run_id']}, which has effects on record" if effects else None


def _older(older: str, newer: str, lacking: str) -> RunError:
    return RunError(
        f"the {older} of this thread are older than its {newer}: they lack {lacking}",
        "see what differs: planwright db check; then put a backup in place: planwright db restore BACKUP",
    )
