"""Verdicts and checkpoints that a run which has ended lacks, though its other rows tell of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import NamedTuple

DONE = ("completed", "completed_with_skips")
_VERDICTS = "SELECT key, verdict, facts IS NOT NULL FROM verdicts WHERE run_id = ? ORDER BY rowid"
_EVENTS = """SELECT type, substr(key, length(type) + 2), seq FROM journal
    WHERE run_id = ? AND type IN ('task_queued', 'plan_complete', 'verdict') ORDER BY seq"""


class _JournalRows(NamedTuple):
    """What the journal tells of a run, by the number of the event."""

    queued: int | None
    """When it was made a session; None where it never was."""
    complete: bool
    """Whether a plan of it was carried out without a failure."""
    verdicts: Mapping[str, int]
    """Its verdicts, by what they are about: the round of a plan, or a gate."""


def missing_rows(connection: sqlite3.Connection, run_id: str) -> Iterator[str]:
    """Say which verdicts and checkpoints of sessions a run should have, and has not."""
    journal = _journal_rows(connection, run_id)
    rows = connection.execute(_VERDICTS, (run_id,)).fetchall()
    subjects = {key: _subject(key, journal) for key, _, _ in rows}
    for lacking in journal.verdicts.keys() - subjects.values():
        yield f"verdict {lacking} is not on record, and the journal tells of it"
    status = connection.execute("SELECT status FROM runs WHERE run_id = ?", (run_id,)).fetchone()[0]
    if status in DONE and journal.complete and not any(verdict == "accept" for _, verdict, _ in rows):
        yield f"it is {status}, and no verdict that accepts it is on record"
    query = "SELECT verdict_key FROM session_checkpoints WHERE run_id = ?"
    with_checkpoint = {key for (key,) in connection.execute(query, (run_id,))}
    for key, _, by_critic in rows:
        in_session = journal.queued is not None and journal.queued < journal.verdicts.get(subjects[key], -1)
        if by_critic and in_session and key not in with_checkpoint:
            yield f"verdict {key} has no checkpoint on record, and is one of a session"


def _journal_rows(connection: sqlite3.Connection, run_id: str) -> _JournalRows:
    events = [(row[0], row[1], row[2]) for row in connection.execute(_EVENTS, (run_id,))]
    queued = next((seq for type_, _, seq in events if type_ == "task_queued"), None)
    complete = any(type_ == "plan_complete" for type_, _, _ in events)
    return _JournalRows(
        queued, complete, {subject: seq for type_, subject, seq in events if type_ == "verdict"}
    )


def _subject(key: str, journal: _JournalRows) -> str:
    """Name what a verdict is about as its event does, without the revision of the plan."""
    return key if key in journal.verdicts else key.partition(":")[2]
