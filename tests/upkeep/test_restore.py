"""Restoring a backup: the store from before is never lost."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from planwright.records.records import open_records
from planwright.upkeep.backup import back_up
from planwright.upkeep.restore import restore
from tests.opened_store import opened_store

NOW = datetime(2031, 5, 1, 12, tzinfo=UTC)
ADD = "INSERT INTO own_parts (run_id, tenant, name) VALUES ('run_1', 'acme', ?)"


def add(store: Path, name: str) -> None:
    with closing(open_records(store)) as records:
        records.database.call("test", lambda connection: connection.execute(ADD, (name,)).rowcount)


def names(store: Path) -> list[str]:
    with closing(opened_store(store)) as connection:
        return [row["name"] for row in connection.execute("SELECT name FROM own_parts ORDER BY name")]


@pytest.mark.sqlite
def test_two_restores_in_one_second_set_two_stores_aside(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for name in ("a", "b"):
        add(store, name)
        back_up(store, tmp_path / name, NOW)
    add(store, "c")
    aside = [restore(tmp_path / name, store, NOW).set_aside for name in ("a", "b")]
    assert names(store) == ["a", "b"]
    assert [names(folder) for folder in aside if folder] == [["a", "b", "c"], ["a"]]


@pytest.mark.sqlite
def test_what_a_dead_process_had_not_taken_back_is_not_put_into_the_backup(tmp_path: Path) -> None:
    store = tmp_path / "store"
    add(store, "a")
    back_up(store, tmp_path / "a", NOW)
    path = store / "planwright.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as dying:
        dying.execute("PRAGMA journal_mode=DELETE")
        dying.execute("PRAGMA cache_size=1")
        dying.execute("BEGIN IMMEDIATE")
        dying.execute("DELETE FROM own_parts")
        dying.execute("CREATE TABLE filling AS SELECT hex(randomblob(1000000)) AS text")
        journal = path.with_name("planwright.db-journal").read_bytes()
    path.unlink()
    path.with_name("planwright.db-journal").write_bytes(journal)
    aside = restore(tmp_path / "a", store, NOW).set_aside
    assert names(store) == ["a"]
    assert aside
    assert (aside / "planwright.db-journal").read_bytes() == journal
