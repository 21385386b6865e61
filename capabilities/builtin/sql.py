"""One SQL statement on one SQLite database of the workspace: to read, or to change it."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue

from planwright.capabilities.builtin.databases import find, opened
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.capability import Guide, capability
from planwright.graph.errors import CapabilityRejected, CapabilityUnavailable, EffectInDoubt
from planwright.graph.references import has_reference

QUERY_S, EXECUTE_S = 10.0, 30.0
MOST_ROWS, MOST_BYTES = 1000, 5_000_000

Scalar = str | int | float | bool | None
Parameters = Annotated[
    list[Scalar] | dict[str, Scalar],
    Field(description="values for ? or :name; never write them into the statement", max_length=200),
]
Database = Annotated[
    str, Field(description="a file directly in the workspace, or a name under sources.databases")
]
Statement = Annotated[str, Field(description="one SQL statement", min_length=1, max_length=100_000)]


class Rows(BaseModel):
    """Rows by column name; `truncated` when there were more."""

    rows: list[dict[str, JsonValue]]
    columns: list[str]
    count: int
    truncated: bool


class Changed(BaseModel):
    """How many rows a statement changed, and those it returned."""

    changed: int
    rows: list[dict[str, JsonValue]]
    count: int


def _known(args: Mapping[str, JsonValue], call: CallContext) -> None:
    name = args.get("database")
    if isinstance(name, str) and not has_reference(name):
        find(name, call)


@capability(
    "sql.query",
    mode="read_only",
    risk="None",
    effect="pure",
    tags=("sql", "query", "select", "database", "sqlite"),
    guide=Guide(
        "Reads rows of an SQLite database by one SELECT. Its tables are in sqlite_master.",
        ("Query tickets.db: SELECT title FROM tickets",),
        55,
    ),
    preflight=_known,
    timeout_s=30,
)
def query(
    statement: Statement,
    database: Database,
    call: CallContext,
    parameters: Parameters = [],  # noqa: B006 - pydantic copies defaults
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100,
) -> Rows:
    """Read rows from an SQLite database of the workspace by one SQL query."""
    with opened(database, call, seconds=QUERY_S) as (connection, watch):
        connection.execute("PRAGMA query_only=ON").close()
        connection.set_authorizer(watch.rule)
        cursor = connection.execute(statement, parameters)
        if cursor.description is None:
            raise CapabilityRejected(
                "the statement returns no rows", "write a SELECT; sql.execute changes data"
            )
        columns, rows, more = _fetch(cursor, limit)
    return Rows(rows=rows, columns=columns, count=len(rows), truncated=more)


@capability(
    "sql.execute",
    mode="destructive",
    risk="High",
    effect="blind",
    tags=("sql", "execute", "database", "sqlite", "insert", "update"),
    guide=Guide(
        "Changes an SQLite database by one statement; a person decides every time.",
        ("Execute on crm.db: UPDATE customers SET city = 'Bonn' WHERE id = 7",),
        56,
    ),
    preflight=_known,
    timeout_s=60,
)
def execute(
    statement: Statement,
    database: Database,
    call: CallContext,
    parameters: Parameters = [],  # noqa: B006 - pydantic copies defaults
) -> Changed:
    """Change an SQLite database of the workspace by one SQL statement, in a transaction of its own."""
    with opened(database, call, write=True, seconds=EXECUTE_S) as (connection, watch):
        connection.execute("BEGIN IMMEDIATE")
        before = connection.total_changes
        connection.set_authorizer(watch.rule)
        _, rows, _ = _fetch(connection.execute(statement, parameters), MOST_ROWS)
        if not watch.asked:
            raise CapabilityRejected("there is no statement", "write one SQL statement")
        connection.set_authorizer(None)
        changed = connection.total_changes - before
        _commit(connection, database)
    return Changed(changed=changed, rows=rows, count=len(rows))


def _commit(connection: sqlite3.Connection, database: str) -> None:
    """Commit; until then nothing has changed, and closing the database takes everything back."""
    try:
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if "locked" in str(error) or "busy" in str(error):
            raise CapabilityUnavailable(f"{database} is locked by another program") from error
        if "constraint" in str(error).lower():
            raise CapabilityRejected(f"{database}: {error}") from error
        raise EffectInDoubt(
            f"{database}: {error}, while the change was being kept", "look into the database"
        ) from error


def _fetch(cursor: sqlite3.Cursor, limit: int) -> tuple[list[str], list[dict[str, JsonValue]], bool]:
    """Read up to `limit` rows, and say whether there are more. All changes are made before the first."""
    columns: list[str] = []
    for entry in cursor.description or ():
        name = str(entry[0])
        columns.append(name if name not in columns else f"{name}_{len(columns) + 1}")
    rows: list[dict[str, JsonValue]] = []
    size = 0
    for row in cursor:
        size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(rows) == limit or size > MOST_BYTES:
            cursor.close()
            return columns, rows, True
        rows.append(dict(zip(columns, map(_json, row), strict=True)))
    return columns, rows, False


def _json(value: Any) -> JsonValue:
    if isinstance(value, bytes):
        return f"{len(value)} bytes: {value[:32].hex()}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    plain: JsonValue = value
    return plain
