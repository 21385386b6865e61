"""The SQL of the stores, which is SQLite's, as PostgreSQL takes it. Each text is translated once.

What PostgreSQL lacks of SQLite as a function, it has in the schema of the store (`functions.py`); here is
what a function cannot do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from planwright.extras.postgres.layout import TABLES

Parameters: TypeAlias = "Sequence[object] | Mapping[str, object]"
"""Values of a statement, by place or by name."""
_TOKEN = re.compile(r"'(?:[^']|'')*'|(\?)|(?<![:\w]):([A-Za-z_]\w*)")
_STAR = re.compile(r"^\s*SELECT\s+(?:DISTINCT\s+)?(?:\w+\.)?\*", re.IGNORECASE)
_UPSERT = re.compile(r"^\s*INSERT OR (IGNORE|REPLACE) INTO (\w+)(?:\s*\(([^)]*)\))?", re.IGNORECASE)
_TABLE_INFO = re.compile(r"^\s*PRAGMA table_info\((\w+)\)\s*$", re.IGNORECASE)
_COLUMNS = """SELECT ordinal_position - 1 AS cid, column_name::text AS name, data_type::text AS type
    FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = '{0}'
    AND column_name <> 'rowid' ORDER BY ordinal_position"""
_REWRITTEN = (
    (re.compile(r"(\$\d+) IS NULL\b"), r"\1::text IS NULL"),
    (re.compile(r"\bIS (?!NULL\b|NOT\b|TRUE\b|FALSE\b|DISTINCT\b)"), "IS NOT DISTINCT FROM "),
    (re.compile(r"\bIS NOT (?!NULL\b|TRUE\b|FALSE\b|DISTINCT\b)"), "IS DISTINCT FROM "),
    (re.compile(r"CAST\((\w+) AS TEXT\)"), r"convert_from(\1, 'UTF8')"),
    (re.compile(r"rowid = \(SELECT max\(rowid\) \+ 1 FROM \w+\)"), "rowid = DEFAULT"),
)
_MATCH = re.compile(r"FROM memories_fts\b(.*?)memories_fts MATCH (\$\d+)", re.DOTALL)


@dataclass(frozen=True)
class Statement:
    """A statement as PostgreSQL takes it."""

    text: str
    """Its SQL, with `$1` and so on for the parameters."""
    names: tuple[str, ...]
    """Names of the parameters in that order; none where they go by their place."""
    hides_row_number: bool
    """Whether it asks for all columns, among which SQLite does not count the number of a row."""

    def ordered(self, parameters: Parameters) -> Sequence[object]:
        """Put parameters in order. Raises KeyError for one that is missing."""
        if isinstance(parameters, Mapping):
            return [parameters[name] for name in self.names]
        return tuple(parameters)


@lru_cache(maxsize=2048)
def translated(sql: str) -> Statement:
    """Translate one statement."""
    if table := _TABLE_INFO.match(sql):
        return Statement(_COLUMNS.format(table[1]), (), False)
    names: dict[str, int] = {}
    count = 0

    def parameter(token: re.Match[str]) -> str:
        nonlocal count
        if token[2] is not None:
            return f"${names.setdefault(token[2], len(names) + 1)}"
        if token[1] is None:
            return token[0]
        count += 1
        return f"${count}"

    text = _TOKEN.sub(parameter, sql)
    for pattern, replacement in _REWRITTEN:
        text = pattern.sub(replacement, text)
    text = _MATCH.sub(r"FROM memories_fts(\2)\1true", text)
    text = _upsert(text)
    return Statement(text, tuple(names), selects_all(text))


def selects_all(sql: str) -> bool:
    """Say whether a statement asks for all columns of a table."""
    return bool(_STAR.match(sql))


def _upsert(text: str) -> str:
    """Say by ON CONFLICT what SQLite says by OR IGNORE and OR REPLACE; who replaces writes a new row."""
    start = _UPSERT.match(text)
    if start is None:
        return text
    verb, table, column_list = start[1].upper(), start[2], start[3]
    body = f"INSERT INTO {table}{f' ({column_list})' if column_list else ''}{text[start.end() :]}"
    if verb == "IGNORE":
        return f"{body} ON CONFLICT DO NOTHING"
    layout = TABLES[table]
    columns = [name.strip() for name in column_list.split(",")] if column_list else list(layout.columns)
    changes = [f"{name} = excluded.{name}" for name in columns if name not in layout.key]
    return f"{body} ON CONFLICT ({', '.join(layout.key)}) DO UPDATE SET {', '.join(changes)}, rowid = DEFAULT"
