"""What files of the workspace held before a call replaced them, by content hash, byte for byte."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from datetime import datetime

from planwright.domain.lease import Lease
from planwright.store.blobs import Blobs
from planwright.store.database import Database
from planwright.store.fencing import held


@dataclass(frozen=True)
class Change:
    """What a call makes of a file: the path, and the version after it."""

    key: str
    """Idempotency key of the call that changes the file."""
    tenant: str
    """Whose call it is."""
    run_id: str
    """Id of the run that makes the call."""
    path: str
    """Path of the file in the workspace."""
    after: str
    """SHA-256 of what the file holds after it; "" where it is gone."""


class FileVersions:
    """Which call made which content of a file into which. The version of a file that is not there is ""."""

    def __init__(self, database: Database, blobs: Blobs) -> None:
        self._database = database
        self._blobs = blobs

    def keep(self, change: Change, content: bytes | None, at: datetime, lease: Lease | None) -> str:
        """Keep the content that a call is about to replace, None where there is no file; return its version.

        A call that has made its change already keeps what it found the first time.
        """
        before = file_version(content)
        if self.has_made(change.key, change.path, before):
            return self._database.look(lambda connection: _of(connection, change.key)[1])
        if content is not None:
            self._blobs.put_bytes(content)
        row = (change.key, change.tenant, change.run_id, change.path, before, change.after, at.isoformat())

        def job(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO file_versions VALUES (?,?,?,?,?,?,?)", row)

        self._database.call("file version", held(lease, job))
        return before

    def has_made(self, key: str, path: str, version: str) -> bool:
        """Say whether the call under a key has made a file what it is."""
        return self._database.look(lambda connection: _of(connection, key)[::2] == (path, version))

    def was_replaced(self, tenant: str, path: str, version: str, by: str) -> bool:
        """Say whether a call has made one version of a file into another."""
        query = "SELECT 1 FROM file_versions WHERE tenant = ? AND path = ? AND before = ? AND after = ?"
        values = (tenant, path, version, by)
        return self._database.look(lambda c: c.execute(query, values).fetchone() is not None)

    def read(self, version: str) -> bytes:
        """Read what a version held. Raises RunError when it is gone."""
        return self._blobs.get_bytes(version)


def file_version(content: bytes | None) -> str:
    """Name the version of a file: the sha256 of its content, empty when there is no file."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _of(connection: sqlite3.Connection, key: str) -> tuple[str | None, str, str | None]:
    """Read path, version before and version after of the call under a key."""
    query = "SELECT path, before, after FROM file_versions WHERE key = ?"
    row = connection.execute(query, (key,)).fetchone()
    return (row["path"], row["before"], row["after"]) if row else (None, "", None)
