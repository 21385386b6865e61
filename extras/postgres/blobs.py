"""Large contents by their hash, in a table: every host finds them."""

from __future__ import annotations

import hashlib
import sqlite3

from planwright.security.redaction.redactor import Redactor
from planwright.store.blobs import Blobs, changed, gone
from planwright.store.database import Database


class PostgresBlobs(Blobs):
    """A table of immutable texts and files named by their sha256."""

    def __init__(self, database: Database, redactor: Redactor | None = None) -> None:
        self._database = database
        self._redactor = redactor or Redactor()

    def put_bytes(self, data: bytes) -> str:
        """Store bytes durably, as they are, and return their hash; who calls knows they hold no secret.

        Raises StoreFailed.
        """
        digest = hashlib.sha256(data).hexdigest()

        def there(connection: sqlite3.Connection) -> bool:
            return connection.execute("SELECT 1 FROM blobs WHERE hash = ?", (digest,)).fetchone() is not None

        def job(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR IGNORE INTO blobs (hash, content) VALUES (?,?)", (digest, data))

        if not self._database.look(there, behind=()):
            self._database.call("blob", job)
        return digest

    def get_bytes(self, digest: str) -> bytes:
        """Read bytes. Raises RunError when they are gone or no longer match their hash."""

        def job(connection: sqlite3.Connection) -> sqlite3.Row | None:
            query = "SELECT content FROM blobs WHERE hash = ?"
            row: sqlite3.Row | None = connection.execute(query, (digest,)).fetchone()
            return row

        row = self._database.look(job, behind=())
        if row is None:
            raise gone(digest, "it is not in the table of blobs")
        if hashlib.sha256(row[0]).hexdigest() != digest:
            raise changed(digest)
        return bytes(row[0])
