"""What is on record after a soak, read with plain SQLite: rows, and the last checkpoint of each thread."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ormsgpack

TABLES = ("runs", "gates", "effects", "steps", "journal", "plans", "forks", "proposals", "memories")
JSON = (("steps", "result"), ("journal", "data"), ("effects", "args"), ("plans", "checked"))
LAST = (
    "SELECT thread_id, type, checkpoint FROM checkpoints WHERE checkpoint_ns = '' AND rowid IN"
    " (SELECT max(rowid) FROM checkpoints WHERE checkpoint_ns = '' GROUP BY thread_id)"
)
Row = dict[str, Any]
TAGGED = 64  # the extension that holds a type of ours, by its tag


@dataclass(frozen=True)
class Records:
    """The store, and what the receiver counted.

    `tables`: the rows of `planwright.db` by table, the oldest first. `checkpoints`: by thread, the values of
    the channels of the one written last. `arrivals`: the name and the key of all that took place, in order.
    """

    tables: dict[str, list[Row]]
    checkpoints: dict[str, Row]
    arrivals: Sequence[tuple[str, str]]

    def by_run(self, table: str) -> dict[str, list[Row]]:
        """Group the rows of a table by their run; every run has a list."""
        rows: dict[str, list[Row]] = {run["run_id"]: [] for run in self.tables["runs"]}
        for row in self.tables[table]:
            rows.setdefault(row["run_id"], []).append(row)
        return rows

    def runs(self) -> dict[str, Row]:
        """Map the ids of runs to their rows."""
        return {run["run_id"]: run for run in self.tables["runs"]}


def read_records(store: Path, arrivals: Sequence[tuple[str, str]]) -> Records:
    """Read a store that nobody works on."""
    with closing(_opened(store / "planwright.db")) as database:
        tables = {name: _rows(database, f"SELECT * FROM {name} ORDER BY rowid") for name in TABLES}
        checkpoints = {row["thread_id"]: _values(database, row) for row in _rows(database, LAST)}
    for table, column in JSON:
        for row in tables[table]:
            row[column] = json.loads(row[column])
    return Records(tables, checkpoints, arrivals)


def _values(database: sqlite3.Connection, row: Row) -> Row:
    """Put the values of a checkpoint together: each is there, or named by 16 bytes, a log by as many each."""
    query = "SELECT hash, type, value FROM contents WHERE thread_id = ?"
    contents = {digest: (kind, value) for digest, kind, value in database.execute(query, (row["thread_id"],))}

    def value(digest: bytes) -> Any:
        kind, content = contents[digest]
        if kind == "log":
            return [value(content[start : start + 16]) for start in range(0, len(content), 16)]
        return unpacked(content)

    refs = unpacked(row["checkpoint"])["refs"]
    return {name: ref[0] if isinstance(ref, list) else value(ref) for name, ref in refs.items()}


def unpacked(content: bytes) -> Any:
    """Unpack a value of LangGraph's serializer; of an object, its arguments.

    Source: langgraph/checkpoint/serde/jsonplus.py, where an extension packs module, class, arguments.
    """

    def argument(code: int, content: bytes) -> Any:
        parts = ormsgpack.unpackb(content, ext_hook=argument)
        place = 1 if code == TAGGED else 2  # [tag, fields], or LangGraph's [module, name, fields, …]
        return parts[place] if isinstance(parts, list) and len(parts) > place else parts

    return ormsgpack.unpackb(content, ext_hook=argument)


def _opened(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    return database


def _rows(database: sqlite3.Connection, query: str) -> list[Row]:
    return [dict(row) for row in database.execute(query)]
