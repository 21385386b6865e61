"""SQLite databases of the user, by their names.

SQLite opens a file by its path, and its journals beside it. A folder on the way could be turned into
a link meanwhile, so a database lies directly in the workspace, or where the settings say.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from planwright.capabilities.builtin import csv_tables
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityError, CapabilityForbidden, CapabilityRejected, OverLimit
from planwright.sandbox.sandbox import sandbox

LOCK_S = 5.0
JOBS = "planwright.capabilities.builtin.statements"
ENDINGS = (".db", ".sqlite", ".sqlite3", *csv_tables.ENDINGS)
MOST_DATABASES, MOST_TABLES = 10, 40  # and as many columns of a table
Tables = dict[str, list[str]]
MOST_NAME = 48
_NAME = re.compile(r"\W*\w+(?:\W+\w+){0,3}\W*")  # up to four words


def find(name: str, call: CallContext) -> Path:
    """Find a database: one the settings name, or a file directly in the workspace.

    Raises CapabilityRejected where there is none, and CapabilityForbidden for what is not the user's own.
    """
    configured, root = call.settings.sources.databases.get(name), call.workspace.root
    if configured is None:
        parts = call.workspace.check(name, write=True)
        if len(parts) != 1:
            raise CapabilityForbidden(
                f"{name!r} does not lie directly in the workspace",
                f'name it in planwright.toml: [sources.databases] crm = "{name}", and use the name crm',
            )
        call.workspace.check_readable(name)
        path = root / parts[0]
    else:
        path = Path(os.path.realpath(root / configured))
    if path.is_relative_to(Path(os.path.realpath(call.settings.store_folder))):
        raise CapabilityForbidden(f"{name!r} belongs to the program")
    try:
        status = os.lstat(path)
    except OSError as error:
        raise CapabilityRejected(
            f"there is no database {name}", "see what is there with: files.list"
        ) from error
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise CapabilityForbidden(f"{name!r} is no plain file of its own: a link, a pipe or a folder")
    return path


def schemas(call: CallContext) -> dict[str, Tables]:
    """List the user's databases with the columns of their tables, so that a plan can name them.

    Left out are the tickets, which have capabilities of their own, what cannot be read, and names that could
    be a sentence: whoever filled a table may have named its columns.
    """
    root, sources = call.workspace.root, call.settings.sources
    tickets = Path(os.path.realpath(root / sources.tickets))
    names = [
        *sources.databases,
        *sorted(entry.name for entry in os.scandir(root) if entry.name.endswith(ENDINGS)),
    ]
    readable: dict[str, Tables] = {}
    for name in names[:MOST_DATABASES]:
        try:
            path = find(name, call)
            if path != tickets:
                tables: Tables = sandbox().run(f"{JOBS}:tables", str(path), name, LOCK_S, MOST_TABLES)
                readable[name] = {
                    table: _names(columns) for table, columns in tables.items() if _is_name(table)
                }
        except (CapabilityError, OverLimit):
            continue
    return {name: tables for name, tables in readable.items() if tables}


def _names(columns: list[str]) -> list[str]:
    return [column for column in columns if _is_name(column)]


def _is_name(text: str) -> bool:
    return len(text) <= MOST_NAME and _NAME.fullmatch(text) is not None
