"""SQLite passes over no whole table that grows with runs, but where that is meant."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.filled_store import fill
from tests.query_plans import OPEN, SMALL, SORTED, WIDE, asked_of, unexcused

pytestmark = pytest.mark.sqlite
RUNS = 200

STEP = re.compile(
    r"(SCAN|SEARCH) (\w+)(?: USING (?:COVERING )?(?:INTEGER PRIMARY KEY|INDEX (\w+)))?(?: \((.*)\))?$"
)
NAMED = re.compile(r"(?:FROM|JOIN|,|UPDATE|INTO)\s+(\w+)(?:\s+(?:AS\s+)?(\w+))?")


def whole_tables(store: sqlite3.Connection, sql: str) -> Iterator[str]:
    """List the steps of a plan that pass over a whole table that grows (sqlite.org/eqp.html)."""
    names = re.findall(r"(?<![:\w]):([A-Za-z_]\w*)", re.sub(r"'[^']*'", "", sql))
    values = dict.fromkeys(names) if names else [None] * re.sub(r"'[^']*'", "", sql).count("?")
    tables = {row[0] for row in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} - SMALL
    called = {name: name for name in tables} | {alias or name: name for name, alias in NAMED.findall(sql)}
    plan = [(row[1], row[3]) for row in store.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    for within, step in ((within, step) for within, text in plan if (step := STEP.match(text))):
        verb, table, index, condition = step.groups()
        if (verb == "SCAN" or condition in WIDE) and called.get(table) in tables and index not in OPEN:
            yield step[0]
            if (within, "USE TEMP B-TREE FOR ORDER BY") in plan:
                yield SORTED


def test_no_statement_passes_over_a_whole_table(tmp_path: Path) -> None:
    file = fill(tmp_path, RUNS)
    statements = [sql for sql in asked_of(tmp_path, "") if "clock_timestamp" not in sql]  # of a server
    with closing(sqlite3.connect(file)) as store:
        scans = {sql: found for sql in statements if (found := list(whole_tables(store, sql)))}
    assert unexcused(scans) == ([], set())
    assert len(statements) > 300
