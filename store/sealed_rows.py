"""Which rows of a run are sealed, by which of their columns, and the digest of each."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from planwright.domain.hashing import sha256

LAYOUT = 2
"""Version of the lists below: a column that comes later is sealed under the next one."""


@dataclass(frozen=True)
class SealedTable:
    """One table whose rows belong to runs, and what of a row is sealed."""

    name: str
    """Name of the table."""
    key: str
    """Column that names a row within its run."""
    columns: tuple[str, ...]
    """Columns that never change once the run has ended."""
    since: int = 1
    """Layout under which its rows were first sealed."""
    together: bool = False
    """Whether the rows of a run have one digest in all, in the order of their keys."""

    @property
    def query(self) -> str:
        """Read one row by its key."""
        return f"SELECT * FROM {self.name} WHERE {self.key} = ?"

    @property
    def query_of_run(self) -> str:
        """Read the rows of a run, in the order of their keys."""
        return f"SELECT * FROM {self.name} WHERE run_id = ? ORDER BY {self.key}"

    def digest(self, row: sqlite3.Row) -> str:
        """Hash what is sealed of a row, as 64 hex digits."""
        return sha256([self.name, *(_format(row[column]) for column in self.columns)])

    def of_run(self, connection: sqlite3.Connection, run_id: str) -> dict[str, str]:
        """Map the keys of a run's rows to their digests; rows taken together stand under their number."""
        rows_of_run = connection.execute(self.query_of_run, (run_id,))
        rows = {str(row[self.key]): self.digest(row) for row in rows_of_run}
        return {f"{len(rows)} rows": sha256(list(rows.items()))} if self.together else rows

    def row(self, connection: sqlite3.Connection, key: str) -> sqlite3.Row | None:
        """Read the row of a table whose keys are unique in the store; None where there is none."""
        row: sqlite3.Row | None = connection.execute(self.query, (key,)).fetchone()
        return row


def _format(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


RUNS = SealedTable(
    "runs",
    "run_id",
    ("run_id", "thread_id", "tenant", "status", "request", "messages", "context", "started_at")
    + ("ended_at", "answer", "cancelled_by"),
)
GATES = SealedTable(
    "gates",
    "gate_id",
    ("gate_id", "thread_id", "run_id", "tenant", "kind", "step_uid", "shown_hash", "shown", "card_hash")
    + ("requested_at", "expires_at", "status", "decided_at", "decided_by", "channel", "reason", "edited")
    + ("remembered", "approvals", "effects", "by_call"),
)
EFFECTS = SealedTable(
    "effects",
    "key",
    ("key", "tenant", "thread_id", "run_id", "step_uid", "attempt", "ordinal", "capability", "effect")
    + ("args_hash", "args", "status", "result", "error", "code", "intended_at", "ended_at", "unasked")
    + ("first_key",),
)
TABLES: Mapping[str, SealedTable] = {
    table.name: table
    for table in (
        RUNS,
        GATES,
        EFFECTS,
        SealedTable(
            "plans",
            "plan_hash",
            ("run_id", "tenant", "plan_hash", "revision", "plan", "checked", "gate_id", "created_at", "kind")
            + ("card",),
        ),
        SealedTable("steps", "uid", ("run_id", "tenant", "uid", "step_id", "status", "result", "ended_at")),
        SealedTable(
            "verdicts",
            "key",
            ("run_id", "tenant", "key", "plan_id", "plan_hash", "revision", "verdict", "reason", "content")
            + ("inputs_hash", "decided_by", "at", "facts"),
        ),
        SealedTable(
            "session_checkpoints",
            "hash",
            ("run_id", "tenant", "hash", "verdict_key", "content", "at"),
            since=2,
        ),
        SealedTable(
            "forks",
            "run_id",
            ("run_id", "tenant", "source_run", "checkpoint_id", "plan", "task", "context_hash", "again")
            + ("created_at", "undo"),
        ),
        SealedTable("chains", "name", ("run_id", "tenant", "name", "hash", "definition", "made_at")),
        SealedTable(
            "compensations", "effect_key", ("run_id", "tenant", "source_run", "effect_key", "step_id")
        ),
        SealedTable("kept_effects", "uid", ("run_id", "tenant", "uid", "within", "key")),
        SealedTable("own_parts", "name", ("run_id", "tenant", "name")),
        SealedTable(
            "journal",
            "seq",
            ("run_id", "thread_id", "tenant", "seq", "ts", "type", "key", "data"),
            together=True,
        ),
    )
}
