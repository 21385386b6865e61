"""One SQL statement on one SQLite database of the workspace: to read, or to change it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

from planwright.capabilities.builtin import databases
from planwright.capabilities.builtin.csv_tables import LARGEST, is_csv
from planwright.capabilities.builtin.databases import find
from planwright.capabilities.builtin.places import database_of
from planwright.capabilities.builtin.statements import MOST_ROWS, Scalar
from planwright.capabilities.call_context import CallContext
from planwright.capabilities.contract import Guide
from planwright.capabilities.declaration import capability
from planwright.capabilities.descriptions import Deed
from planwright.domain.errors import CapabilityRejected, EffectInDoubt, OverLimit
from planwright.domain.references import has_reference
from planwright.sandbox.sandbox import JobFailed, sandbox

Parameters = Annotated[
    list[Scalar] | dict[str, Scalar],
    Field(description="values for ? or :name; never write them into the statement", max_length=200),
]
Database = Annotated[
    str, Field(description="a file directly in the workspace, also a .csv, or a name under sources.databases")
]
Statement = Annotated[str, Field(description="one SQL statement", min_length=1, max_length=100_000)]


class Rows(BaseModel):
    """Rows by column name; `truncated` when there were more."""

    rows: list[dict[str, JsonValue]]
    """The rows, each by column name."""
    columns: list[str]
    """Names of the columns, in order."""
    count: int
    """Number of the rows returned."""
    truncated: bool
    """Whether there were more rows than the limit."""


class Changed(BaseModel):
    """How many rows a statement changed, and those it returned."""

    changed: int
    """Number of the rows that changed."""
    rows: list[dict[str, JsonValue]]
    """Rows that the statement returned, each by column name."""
    count: int
    """Number of the rows returned."""


def _check_database(args: Mapping[str, JsonValue], call: CallContext) -> None:
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
        "Reads rows of an SQLite database by one SELECT; its tables are in sqlite_master. A CSV file is a"
        " database of one table, named like the file without its ending.",
        ("Query tickets.db: SELECT title FROM tickets",),
        55,
    ),
    preflight=_check_database,
    timeout_s=30,
    reads=database_of,
)
def query(
    statement: Statement,
    database: Database,
    call: CallContext,
    parameters: Parameters = [],  # noqa: B006 - pydantic copies defaults
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100,
) -> Rows:
    """Read rows from an SQLite database of the workspace by one SQL query."""
    path = str(find(database, call))
    try:
        columns, rows, more = sandbox().run(
            f"{databases.JOBS}:query", path, database, databases.LOCK_S, statement, parameters, limit
        )
    except OverLimit as error:
        raise CapabilityRejected(f"the statement was stopped: {error.cause}", "ask for less") from error
    if is_csv(database) and database not in call.settings.sources.databases:
        call.workspace.read_bytes(database, LARGEST)  # refuses one that a private key is in
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
    preflight=_check_database,
    timeout_s=60,
    deed=Deed("change", "database", "", ("database",)),
    writes=database_of,
)
def execute(
    statement: Statement,
    database: Database,
    call: CallContext,
    parameters: Parameters = [],  # noqa: B006 - pydantic copies defaults
) -> Changed:
    """Change an SQLite database of the workspace by one SQL statement, in a transaction of its own."""
    path = str(find(database, call))
    job = (path, database, databases.LOCK_S)
    try:
        changed, rows = sandbox().run(f"{databases.JOBS}:execute", *job, statement, parameters)
    except OverLimit as error:
        sandbox().run(f"{databases.JOBS}:take_back", *job)
        raise CapabilityRejected(
            f"the statement was stopped, and nothing has changed: {error.cause}", "change less at once"
        ) from error
    except JobFailed as error:
        raise EffectInDoubt(
            f"{database}: the statement broke off: {error.cause}", "look into the database"
        ) from error
    return Changed(changed=changed, rows=rows, count=len(rows))
