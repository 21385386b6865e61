"""A CSV file (RFC 4180, and what programs make of it) as a table of a database in memory."""

from __future__ import annotations

import csv
import io
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from planwright.domain.errors import CapabilityRejected

ENDINGS = (".csv", ".tsv")
LARGEST = 50_000_000  # bytes
MOST_COLUMNS = 500
_SAMPLE, _DELIMITERS = 65_536, ",;\t|"
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,15})?")


def is_csv(name: str) -> bool:
    """Say whether a name is that of a CSV file."""
    return name.lower().endswith(ENDINGS)


def load(database: sqlite3.Connection, path: Path) -> None:
    """Fill one table, named like the file without its ending. Raises CapabilityRejected for what is no table.

    Delimiter and encoding are read from the file; a column of plain numbers holds numbers, any other text.
    """
    text = _text(path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text[:_SAMPLE], path))
    try:
        header, *rows = [row for row in reader if row] or [[]]
    except csv.Error as error:
        raise CapabilityRejected(f"{path.name} is no CSV: {error}") from error
    names = list(_column_names(header))
    if not 0 < len(names) <= MOST_COLUMNS:
        raise CapabilityRejected(f"{path.name} has {len(names)} columns; a table has 1 to {MOST_COLUMNS}")
    if wide := next((number for number, row in enumerate(rows, 2) if len(row) > len(names)), None):
        raise CapabilityRejected(f"row {wide} of {path.name} has more values than the header has names")
    table = _quoted(path.stem)
    kinds = ["NUMERIC" if _all_numbers(rows, place) else "TEXT" for place in range(len(names))]
    columns = ", ".join(f"{_quoted(name)} {kind}" for name, kind in zip(names, kinds, strict=True))
    database.execute(f"CREATE TABLE {table} ({columns})")
    padded = ([*(value or None for value in row), *[None] * (len(names) - len(row))] for row in rows)
    database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})", padded)


def _text(path: Path) -> str:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise CapabilityRejected(
            f"{path.name} is larger than {LARGEST // 1_000_000} MB", "import it into an SQLite database"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _delimiter(sample: str, path: Path) -> str:
    try:
        return csv.Sniffer().sniff(sample, _DELIMITERS).delimiter
    except csv.Error:
        return "\t" if path.suffix.lower() == ".tsv" else ","


def _column_names(header: list[str]) -> Iterator[str]:
    """Name the columns; one without a name, or with one that was there, gets its number."""
    used: set[str] = set()
    for number, name in enumerate(header, 1):
        plain = name.strip() or f"column_{number}"
        unique = plain if plain.lower() not in used else f"{plain}_{number}"
        used.add(unique.lower())
        yield unique


def _all_numbers(rows: list[list[str]], place: int) -> bool:
    values = [row[place] for row in rows if len(row) > place and row[place]]
    return bool(values) and all(_NUMBER.fullmatch(value) for value in values)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
