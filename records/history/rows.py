"""Rows as they are read to be shown."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
"""One row of a table, or of a join, by its columns; what a column holds as JSON is read."""
Place = Mapping[str, object] | Sequence[object]
"""Values of a statement, by name or in order."""
_JSON = frozenset(("data", "result", "args", "shown", "approvals", "tags"))


def rows_of(connection: sqlite3.Connection, statement: str, place: Place = ()) -> Iterator[Row]:
    """Ask one statement, and yield its rows, with what their columns hold as JSON."""
    for row in connection.execute(statement, place):
        yield {
            name: json.loads(row[name]) if name in _JSON and row[name] else row[name]
            for name in tuple(row.keys())
        }


def first_of(connection: sqlite3.Connection, statement: str, place: Place = ()) -> Row | None:
    """Ask one statement for its first row; None where it has none."""
    return next(rows_of(connection, statement, place), None)


def count_of(connection: sqlite3.Connection, statement: str, place: Place = ()) -> int:
    """Ask one statement that counts."""
    return int(connection.execute(statement, place).fetchone()[0])
