"""The records opened for reading: a store that is refused leaves nothing open."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from planwright.cli.views.open_store import open_store
from planwright.domain.errors import SetupError
from planwright.extras.audit.chain_views import open_records_file
from planwright.records.history.run_records import find_row
from planwright.settings.settings import Settings, load
from tests.cli.conftest import Waiting
from tests.cli.desk import Desk

pytestmark = pytest.mark.sqlite


def still_open(path: Path) -> list[str]:
    """List the open files of this process that are a file, or lie beside it."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:  # that of the list itself
            continue
    return [link for link in links if link.startswith(str(path))]


@pytest.mark.parametrize("open_records", [open_store, open_records_file])
def test_a_store_that_is_refused_is_not_left_open(
    desk: Desk, waiting: Waiting, open_records: Callable[[Settings], object]
) -> None:
    path = desk.folder / ".planwright" / "planwright.db"
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 1000")
    with pytest.raises(SetupError, match="newer planwright") as refused:
        open_records(load(desk.folder))
    assert refused.tb is not None, "what the function had opened lives as long as this"
    assert still_open(path) == []


def test_what_a_dead_process_was_about_to_write_is_taken_back_first(desk: Desk, waiting: Waiting) -> None:
    path = desk.folder / ".planwright" / "planwright.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as dying:
        dying.execute("PRAGMA journal_mode=DELETE")
        dying.execute("PRAGMA cache_size=1")
        dying.execute("BEGIN IMMEDIATE")
        dying.execute("UPDATE runs SET status = 'running'")
        dying.execute(
            "CREATE TABLE filling AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 3000)"
            " SELECT i, hex(randomblob(200)) FROM n"
        )
        for name in ("planwright.db", "planwright.db-journal"):
            shutil.copy2(path.with_name(name), desk.folder / name)
        dying.execute("ROLLBACK")
    for name in ("planwright.db", "planwright.db-journal"):
        (desk.folder / name).rename(path.with_name(name))
    row = open_store(load(desk.folder)).read(find_row, waiting.run_id)
    assert row is not None
    assert row["status"] == "waiting"
