"""A connection that writes no secret into any table: the last net, below every store.

What is handed to SQLite is clean by then as a rule; a text or a checkpoint that is not is written
without the secret.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

import ormsgpack

from planwright.security.redaction.redactor import Redactor

_JSON = b'{["'


class RedactedCursor(sqlite3.Cursor):
    """A cursor whose parameters are looked through."""

    def execute(self, sql: str, parameters: Any = (), /) -> RedactedCursor:
        """Run a statement with parameters that hold no secret."""
        return super().execute(sql, redacted_parameters(parameters, _redactor_of(self.connection)))

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> RedactedCursor:
        """Run a statement once for each row, without a secret in any."""
        redactor = _redactor_of(self.connection)
        return super().executemany(sql, (redacted_parameters(row, redactor) for row in parameters))


class RedactedConnection(sqlite3.Connection):
    """A connection that looks through whatever is written."""

    redactor: Redactor
    """Hides known secrets in what is written."""

    def cursor(self, factory: Any = RedactedCursor) -> Any:
        """Open a cursor that looks through its parameters."""
        return super().cursor(factory)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run a statement on a cursor of its own."""
        cursor: sqlite3.Cursor = self.cursor().execute(sql, parameters)
        return cursor

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        """Run a statement once for each row, on a cursor of its own."""
        cursor: sqlite3.Cursor = self.cursor().executemany(sql, parameters)
        return cursor


def rewritten(payload: bytes, redactor: Redactor) -> bytes:
    """Write msgpack anew without the secrets in it, whatever objects they are in."""

    def inside(code: int, data: bytes) -> ormsgpack.Ext:
        return ormsgpack.Ext(code, rewritten(data, redactor))

    value = ormsgpack.unpackb(payload, ext_hook=inside, option=ormsgpack.OPT_NON_STR_KEYS)
    return ormsgpack.packb(redactor.value(value), option=ormsgpack.OPT_NON_STR_KEYS)


def _redactor_of(connection: sqlite3.Connection) -> Redactor:
    if not isinstance(connection, RedactedConnection):
        raise TypeError("a redacted cursor belongs to a redacted connection")
    return connection.redactor


def redacted_parameters(parameters: Any, redactor: Redactor) -> Any:
    """Take the secrets out of the parameters of a statement, a list or a mapping."""
    if not parameters:
        return parameters
    values = parameters.values() if isinstance(parameters, Mapping) else parameters
    if not redactor.may_be_in(b"\0".join(map(_coded, values))):  # most rows hold none, as one look tells
        return parameters
    if isinstance(parameters, Mapping):
        return {name: redacted_value(value, redactor) for name, value in parameters.items()}
    return [redacted_value(value, redactor) for value in parameters]


def _coded(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return value if isinstance(value, bytes) else b""


def redacted_value(value: object, redactor: Redactor) -> object:
    """Take the secrets out of one value of a row: a text, JSON or msgpack."""
    if isinstance(value, str):
        return redactor.document(value)
    if isinstance(value, bytes) and redactor.in_bytes(value):
        if value[:1] in _JSON:
            return redactor.document(value.decode()).encode()
        return rewritten(value, redactor)
    return value
