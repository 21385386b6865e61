"""The entries of the chain: appended in the transaction of what they are about, and never changed.

An entry has the hash of the one before it, so whoever changes, removes or adds one has to make all later
ones anew; the newest hash can be kept outside of the store (`anchor.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from planwright.domain.hashing import canonical_json, sha256
from planwright.store.engines.engine import ask_ahead, lock_shared_rows
from planwright.store.sealed_rows import SealedTable

BEGIN = "0" * 64
"""The hash before the first entry."""
_HEAD = "SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1"
EntryKind = Literal["gate", "effect", "run", "setback"]


@dataclass(frozen=True)
class Entry:
    """One entry of the chain."""

    n: int
    """Number of the entry, counted from 1 without gaps."""
    tenant: str
    """Whose run it is about; "" where it is about no run."""
    run_id: str
    """Id of that run; "" for none."""
    kind: EntryKind
    """What it is about: an answer to a gate, an effect of the ledger, a run that has ended, or a store that
    lacks effects that were begun in it."""
    subject: str
    """Id of the gate, key of the effect, id of the run or of the setback."""
    content: str
    """What is on record, as JSON; with the digest of the row, or of all rows of the run."""
    at: str
    """When it was written, in ISO 8601."""
    prev_hash: str
    """Hash of the entry before it."""
    hash: str
    """Hash of all of this, as 64 hex digits."""

    @property
    def own_hash(self) -> str:
        """Work the hash out anew."""
        return sha256(
            [self.n, self.prev_hash, self.tenant, self.run_id, self.kind, self.subject, self.at, self.content]
        )


def append(
    connection: sqlite3.Connection,
    kind: EntryKind,
    run: tuple[str, str],
    subject: str,
    content: object,
    at: datetime,
) -> None:
    """Append an entry about a run, named by its tenant and id, in the transaction that is open.

    What is in the content comes out of rows: what they hold is redacted, and a hash of anything else would
    not be that of what is stored.
    """
    lock_shared_rows(connection)
    n, prev_hash = head(connection)
    text, when = canonical_json(content), at.isoformat()
    entry = Entry(n + 1, *run, kind, subject, text, when, prev_hash, hash="")
    connection.execute(
        "INSERT INTO audit (n, tenant, run_id, kind, subject, content, at, prev_hash, hash)"
        " VALUES (?,?,?,?,?,?,?,?,?)",
        (entry.n, *run, kind, subject, text, when, prev_hash, entry.own_hash),
    )


def append_row(
    connection: sqlite3.Connection, kind: EntryKind, table: SealedTable, key: str, at: datetime
) -> None:
    """Append an entry about a row as it is now."""
    lock_shared_rows(connection)
    ask_ahead(connection, (table.query, (key,)), (_HEAD, ()))
    row = table.row(connection, key)
    if row is not None:
        content = {"digest": table.digest(row), "status": row["status"]}
        append(connection, kind, (row["tenant"], row["run_id"]), key, content, at)


def head(connection: sqlite3.Connection) -> tuple[int, str]:
    """Read the number and the hash of the newest entry."""
    row = connection.execute(_HEAD).fetchone()
    return (0, BEGIN) if row is None else (row[0], row[1])


def entries(connection: sqlite3.Connection) -> Iterator[Entry]:
    """Read all entries, oldest first."""
    for row in connection.execute("SELECT * FROM audit ORDER BY n"):
        yield Entry(**{name: row[name] for name in Entry.__dataclass_fields__})
