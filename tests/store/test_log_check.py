"""A log that is shorter than its index says is found out, and no healthy one is taken for that."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from planwright.store.log_check import frames_lost

pytestmark = pytest.mark.sqlite
SIDES = ("", "-wal", "-shm")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A file with a log of 21 commits."""
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as opened:
        opened.execute("PRAGMA journal_mode=WAL")
        opened.execute("CREATE TABLE notes (text TEXT)")
        for number in range(20):
            opened.execute("INSERT INTO notes VALUES (?)", (str(number) * 500,))
        yield opened


def copied(store: Path) -> Path:
    """Copy a file, its log and its index, as a kill leaves them."""
    place = store.with_name("killed.db")
    for side in SIDES:
        shutil.copy(f"{store}{side}", f"{place}{side}")
    return place


@pytest.mark.parametrize("left", [0.999, 0.5, 0.001, 0])
def test_a_log_that_was_cut_is_found_out(connection: sqlite3.Connection, tmp_path: Path, left: float) -> None:
    store = copied(tmp_path / "store.db")
    assert frames_lost(store) == 0
    log = Path(f"{store}-wal")
    data = log.read_bytes()
    log.write_bytes(data[: int(len(data) * left)])
    assert frames_lost(store) > 0


def test_a_log_that_is_gone_is_found_out(connection: sqlite3.Connection, tmp_path: Path) -> None:
    store = copied(tmp_path / "store.db")
    Path(f"{store}-wal").unlink()
    assert frames_lost(store) > 0


def test_a_log_whose_commits_are_in_the_file_is_missed_by_nobody(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
    store = copied(tmp_path / "store.db")
    Path(f"{store}-wal").unlink()
    assert frames_lost(store) == 0


@pytest.mark.parametrize("mode", ["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
def test_a_log_that_begins_anew_is_whole(connection: sqlite3.Connection, tmp_path: Path, mode: str) -> None:
    for number in range(3):
        connection.execute(f"PRAGMA wal_checkpoint({mode})")
        assert frames_lost(tmp_path / "store.db") == 0
        connection.execute("INSERT INTO notes VALUES (?)", (str(number) * 5000,))
        assert frames_lost(tmp_path / "store.db") == 0
    connection.close()
    assert frames_lost(tmp_path / "store.db") == 0
