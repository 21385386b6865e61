"""Files of a store that are opened for reading, also where their writer died in the middle."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from planwright.store.store_files import read_only

ROWS = "SELECT count(*) FROM notes"


def left_behind(folder: Path) -> Path:
    """Make a file as a process leaves it that dies in a transaction whose pages are on the disk already."""
    path = folder / "whole" / "x.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
        connection.execute("INSERT INTO notes VALUES ('kept')")
        connection.execute("PRAGMA cache_size=1")
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO notes VALUES (?)", [("word " * 500,) for _ in range(200)])
        shutil.copytree(path.parent, folder / "left")
    assert (folder / "left" / "x.db-journal").stat().st_size > 0
    return folder / "left" / "x.db"


def test_what_a_dead_process_was_about_to_write_is_taken_back(tmp_path: Path) -> None:
    path = left_behind(tmp_path)
    with (
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as plain,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        plain.execute(ROWS)
    with closing(read_only(path)) as connection:
        assert connection.execute(ROWS).fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM notes")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("no database " * 100)
    with pytest.raises(sqlite3.DatabaseError):
        read_only(tmp_path / "x.db")
