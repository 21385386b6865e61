"""Read the tables of the store: list them, ask them by SQL, write them to files. Nothing is changed."""

from __future__ import annotations

import base64
import csv
import json
import math
import os
import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from rich.table import Table
from sqlite_utils import Database

from planwright.capabilities.trust.guard import load_trusted
from planwright.cli.views import rendering as views
from planwright.cli.views.open_store import asked_server, store_files
from planwright.domain.errors import SetupError
from planwright.security.redaction.connection import redacted_value
from planwright.security.redaction.known_secrets import redactor_of
from planwright.settings.settings import Settings
from planwright.store.private_files import FILE_MODE, FOLDER_MODE
from planwright.store.store_errors import BROKEN, check_storable, store_error
from planwright.store.store_files import RECORDS, has_file, no_store, open_tables

Format = Literal["csv", "json", "ndjson"]
Row = Sequence[object]
# What a SELECT needs (sqlite.org/c3ref/c_alter_table.html); ATTACH, PRAGMA and all the rest is refused.
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
_OF_INDEX = "memories_fts"
_COMMENTS = re.compile(r"\A(?:\s+|--[^\n]*|/\*.*?\*/)*", re.DOTALL)


def show_tables(workspace: Path, as_json: bool) -> int:
    """List the tables of the store."""
    settings = load_trusted(workspace)
    with _tables(settings) as tables:
        rows = [
            {"file": file, "table": name, "rows": table.count, "columns": [c.name for c in table.columns]}
            for name, (file, table) in tables.items()
        ]
    if as_json:
        print(json.dumps(rows, indent=2))
    elif rows:
        listing = Table("file", "table", "rows", "columns", box=None, pad_edge=False, header_style="bold")
        for row in rows:
            listing.add_row(row["file"], row["table"], f"{row['rows']:,}", ", ".join(row["columns"]))
        views.console().print(listing)
    else:
        print(no_store(settings.store_folder))
    return 0


def show_query(sql: str, workspace: Path, shape: Literal["table", "csv", "json"], limit: int) -> int:
    """Print what a SELECT brings. Raises SetupError for any other statement, and for one that fails."""
    check_storable("the statement", sql)
    settings = load_trusted(workspace)
    redactor = redactor_of(settings)
    if settings.store_url:
        names, rows = _selected_there(settings, sql, limit + 1)
    else:
        with closing(open_tables(settings.store_folder)) as connection:
            names, rows = _selected(connection, sql, limit + 1)
    more = len(rows) > limit
    rows = [[redacted_value(value, redactor) for value in row] for row in rows[:limit]]
    if shape == "json":
        records = [dict(zip(names, map(_in_json, row), strict=True)) for row in rows]
        print(json.dumps({"rows": records, "more": more}, ensure_ascii=False, indent=2))
        return 0
    if shape == "csv":
        _write_csv(sys.stdout, names, rows)
    else:
        table = Table(*names, box=None, pad_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*map(_in_table, row))
        views.console().print(table)
    if more:
        sys.stderr.write(f"these are the first {limit:,} rows; there are more: --limit {10 * limit}\n")
    return 0


def export_tables(name: str, to: Path, shape: Format, workspace: Path) -> int:
    """Write one table to a file, or all to the files of a folder. Raises SetupError where that is there."""
    settings = load_trusted(workspace)
    redactor = redactor_of(settings)
    with _tables(settings) as tables:
        if not tables:
            raise no_store(settings.store_folder)
        if name != "all" and name not in tables:
            raise SetupError(f"there is no table {name}", f"name one: {', '.join(tables)}, or: all")
        try:
            if name == "all":
                to.mkdir(FOLDER_MODE)
            chosen = (
                {table_name: to / f"{table_name}.{shape}" for table_name in tables}
                if name == "all"
                else {name: to}
            )
            for table_name, path in chosen.items():
                _, table = tables[table_name]
                rows = ([redacted_value(value, redactor) for value in row.values()] for row in table.rows)
                _write(path, shape, [column.name for column in table.columns], rows)
        except FileExistsError as error:
            raise SetupError(f"{to} is there already", "name one that is not there yet") from error
        except (OSError, *BROKEN) as error:
            raise store_error(to, error) from error
    print(f"{to}: {name if name != 'all' else f'{len(chosen)} tables'}")
    return 0


@contextmanager
def _tables(settings: Settings) -> Iterator[dict[str, tuple[str, Any]]]:
    """Find the tables by name, each with the file it is in."""
    with ExitStack() as opened:
        folder = opened.enter_context(store_files(settings))
        if not has_file(folder):
            yield {}
            return
        database = Database(opened.enter_context(closing(open_tables(folder))))
        names = (name for name in database.table_names() if not name.startswith(_OF_INDEX))
        yield {name: (RECORDS, database[name]) for name in names}


def _selected(connection: sqlite3.Connection, sql: str, most: int) -> tuple[list[str], list[Row]]:
    connection.set_progress_handler(lambda: None, 100_000)  # lets Python hear Ctrl-C in a long statement
    try:
        connection.execute("SELECT 1 FROM memories_fts LIMIT 0")  # FTS5 opens its index by more than a SELECT
        connection.set_authorizer(_permit)
        cursor = connection.execute(sql)
        if cursor.description is None:
            raise SetupError("this statement brings no rows", _ONLY_SELECT)
        return _distinct([column[0] for column in cursor.description]), list(islice(cursor, most))
    except (*BROKEN, sqlite3.Warning) as error:
        text = str(error)
        if "not authorized" in text or "prohibited" in text or "one statement" in text:
            raise SetupError(f"only one SELECT is let through: {text}", _ONLY_SELECT) from error
        if "malformed" in text or "I/O" in text:
            raise store_error(Path(RECORDS), error) from error
        raise SetupError(f"the query failed: {text}", "see what there is: planwright db tables") from error


def _selected_there(settings: Settings, sql: str, most: int) -> tuple[list[str], list[Row]]:
    """Ask PostgreSQL, in a session that can only read; the statement goes there as it was written."""
    if not _COMMENTS.sub("", sql).upper().startswith(("SELECT", "WITH", "VALUES")):
        raise SetupError("only one SELECT is let through", _ONLY_SELECT)
    try:
        with asked_server(settings, sql) as cursor:
            return _distinct([column[0] for column in cursor.description]), list(islice(cursor, most))
    except BROKEN as error:
        raise SetupError(f"the query failed: {error}", "see what there is: planwright db tables") from error


_ONLY_SELECT = 'for instance: planwright db query "SELECT status, count(*) FROM runs GROUP BY status"'


def _permit(action: int, first: str | None, *_: str | None) -> int:
    reads_index = action == sqlite3.SQLITE_PRAGMA and first == "data_version"  # FTS5 asks whether it changed
    return sqlite3.SQLITE_OK if action in _ALLOWED or reads_index else sqlite3.SQLITE_DENY


def _distinct(names: Sequence[str]) -> list[str]:
    """Number the columns that share a name."""
    return [
        f"{name}_{1 + names[:place].count(name)}" if name in names[:place] else name
        for place, name in enumerate(names)
    ]


def _write(path: Path, shape: Format, names: Sequence[str], rows: Iterable[Row]) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    with open(descriptor, "w", encoding="utf-8", newline="" if shape == "csv" else None) as file:
        if shape == "csv":
            _write_csv(file, names, rows)
            return
        lines = (
            json.dumps(dict(zip(names, map(_in_json, row), strict=True)), ensure_ascii=False) for row in rows
        )
        if shape == "ndjson":
            file.writelines(f"{line}\n" for line in lines)
        else:
            file.write("[")
            file.writelines((",\n" if number else "\n") + line for number, line in enumerate(lines))
            file.write("\n]\n")


def _write_csv(file: IO[str], names: Sequence[str], rows: Iterable[Row]) -> None:
    writer = csv.writer(file)
    writer.writerow(names)
    writer.writerows(
        [_encoded(value) if isinstance(value, bytes) else value for value in row] for row in rows
    )


def _in_json(value: object) -> object:
    """Spell a value in JSON; bytes as sqlite-utils does."""
    if isinstance(value, bytes):
        return {"$base64": True, "encoded": _encoded(value)}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _in_table(value: object) -> str:
    if isinstance(value, bytes):
        return f"<{len(value):,} bytes>"
    return "" if value is None else views.one_line(value)


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()
