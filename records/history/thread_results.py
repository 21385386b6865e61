"""What the calls of earlier runs of a thread brought: the model of a later one may have read it."""

from __future__ import annotations

import sqlite3

from planwright.domain.results import StepResult
from planwright.records.runs import FAMILY
from planwright.store.database import Database

MOST = 200  # results of earlier runs that are read, the newest ones
_BEFORE = f"""WITH RECURSIVE {FAMILY} SELECT result FROM (
    SELECT s.result, s.rowid AS n FROM steps s JOIN runs r ON r.run_id = s.run_id
    WHERE r.thread_id IN (SELECT thread_id FROM family) AND s.run_id <> :run AND s.status = 'completed'
    ORDER BY s.rowid DESC LIMIT {MOST}) newest ORDER BY n"""


async def results_before(database: Database, run_id: str, thread_id: str) -> list[StepResult]:
    """List what the newest calls of other runs of a thread, or of what it was forked from, brought.

    The oldest come first.
    """

    def job(connection: sqlite3.Connection) -> list[str]:
        rows = connection.execute(_BEFORE, {"run": run_id, "thread": thread_id})
        return [str(row[0]) for row in rows]

    return [StepResult.model_validate_json(row) for row in await database.read(job)]
