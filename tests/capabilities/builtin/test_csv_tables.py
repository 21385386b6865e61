"""A CSV file is a table, whatever program wrote it; what is no table is refused in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from planwright.capabilities.builtin import csv_tables, databases, sql
from planwright.capabilities.builtin.csv_tables import is_csv, load
from planwright.capabilities.call_context import CallContext
from planwright.domain.errors import CapabilityForbidden, CapabilityRejected

MakeWorld = Callable[..., CallContext]


def table(folder: Path, data: bytes, name: str = "sales.csv") -> tuple[list[str], list[tuple[object, ...]]]:
    """Load a file, and read all of its table."""
    (folder / name).write_bytes(data)
    with closing(sqlite3.connect(":memory:")) as database:
        load(database, folder / name)
        cursor = database.execute(f'SELECT * FROM "{Path(name).stem}"')
        return [column[0] for column in cursor.description], cursor.fetchall()


@pytest.mark.parametrize(
    ("data", "columns", "rows"),
    [
        (b"city,total\nBonn,2.5\nPorto,10\n", ["city", "total"], [("Bonn", 2.5), ("Porto", 10)]),
        (b"\xef\xbb\xbfcity;total\r\nBonn;2\r\n", ["city", "total"], [("Bonn", 2)]),
        (b"city\ttotal\nBonn\t2\n", ["city", "total"], [("Bonn", 2)]),
        ("städte,n\nKöln,1\n".encode("cp1252"), ["städte", "n"], [("Köln", 1)]),
        (b'note,n\n"two\nlines, and ""quotes""",1\n', ["note", "n"], [('two\nlines, and "quotes"', 1)]),
        (b"zip,n\n01234,1\n99999,2\n", ["zip", "n"], [("01234", 1), ("99999", 2)]),
        (b"a,b,c\n1,,3\n4\n\n", ["a", "b", "c"], [(1, None, 3), (4, None, None)]),
        (b"name,Name,,name\nx,y,z,w\n", ["name", "Name_2", "column_3", "name_4"], [("x", "y", "z", "w")]),
        (b"only\n", ["only"], []),
    ],
)
def test_files_of_all_kinds_are_tables(
    tmp_path: Path, data: bytes, columns: list[str], rows: list[tuple[object, ...]]
) -> None:
    assert table(tmp_path, data) == (columns, rows)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "0 columns"),
        (b"a,b\n1,2\n1,2,3\n", "row 3 of sales.csv has more values"),
        (b",".join([b"x"] * (csv_tables.MOST_COLUMNS + 1)), "columns; a table has 1 to"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(CapabilityRejected, match=reason):
        table(tmp_path, data)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_tables, "LARGEST", 10)
    with pytest.raises(CapabilityRejected, match="larger than"):
        table(tmp_path, b"city,total\nBonn,2\n")


def test_a_query_reads_a_csv_like_any_database(tmp_path: Path, make_world: MakeWorld) -> None:
    (tmp_path / "sales.csv").write_text("city,total\nBonn,2.5\nPorto,10\nBonn,1\n")
    statement = "SELECT city, sum(total) AS total FROM sales GROUP BY city ORDER BY city"
    read = sql.query.function(statement=statement, database="sales.csv", call=make_world())
    assert read.rows == [{"city": "Bonn", "total": 3.5}, {"city": "Porto", "total": 10}]
    assert databases.schemas(make_world()) == {"sales.csv": {"sales": ["city", "total"]}}
    assert is_csv("Sales.CSV")


@pytest.mark.parametrize("statement", ["ATTACH 'other.db' AS x", "PRAGMA user_version", "DELETE FROM sales"])
def test_a_query_of_a_csv_does_nothing_but_read(
    tmp_path: Path, make_world: MakeWorld, statement: str
) -> None:
    (tmp_path / "sales.csv").write_text("city,total\nBonn,2.5\n")
    with pytest.raises((CapabilityForbidden, CapabilityRejected)):
        sql.query.function(statement=statement, database="sales.csv", call=make_world())


def test_a_csv_is_not_changed_by_sql(tmp_path: Path, make_world: MakeWorld) -> None:
    (tmp_path / "sales.csv").write_text("city,total\nBonn,2.5\n")
    with pytest.raises(CapabilityRejected, match="read, not changed"):
        sql.execute.function(statement="DELETE FROM sales", database="sales.csv", call=make_world())
    assert (tmp_path / "sales.csv").read_text() == "city,total\nBonn,2.5\n"
