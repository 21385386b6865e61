"""A store of files is copied into a server: nobody writes meanwhile what would be left behind."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from planwright.domain.errors import RunError
from planwright.extras.postgres.copying import FILE, copy_to_server
from planwright.extras.postgres.server import server_of
from planwright.store.engines.sqlite import SqliteEngine
from planwright.store.migrations import MIGRATIONS
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer

pytestmark = pytest.mark.long

ADD = "INSERT INTO own_parts (run_id, tenant, name) VALUES ('run_1', 'acme', 'a')"
COUNT = "SELECT count(*) FROM own_parts"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store of files with one row."""
    with closing(SqliteEngine(tmp_path / FILE, MIGRATIONS, PATIENCE_S, None).open()) as store:
        store.execute(ADD)
    return tmp_path


def test_nobody_writes_in_the_files_while_they_are_copied(
    folder: Path, server: PostgresServer, store_url: str
) -> None:
    engine = server_of(store_url, MIGRATIONS, PATIENCE_S, None).engine
    engine.open().close()
    copied: list[tuple[dict[str, int], int]] = []
    copying = threading.Thread(target=lambda: copied.append(copy_to_server(folder, engine, lambda: None)))
    with closing(engine.open()) as other, closing(sqlite3.connect(folder / FILE, timeout=0)) as writer:
        engine.begin(other, synced=True)
        other.execute("SELECT 1").fetchone()  # it holds the lock there: the copy waits for it
        copying.start()
        server.wait_for_waiter()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            writer.execute(ADD.replace("run_1", "run_2"))
        other.execute("ROLLBACK")
        copying.join(PATIENCE_S)
        assert copied[0][0]["own_parts"] == 1
        writer.execute(ADD.replace("run_1", "run_2"))


def test_nothing_is_copied_where_somebody_waits_to_write_in_the_files(folder: Path, store_url: str) -> None:
    engine = server_of(store_url, MIGRATIONS, PATIENCE_S, None).engine

    def in_use() -> None:
        raise RunError("another program has it open", "end it")

    with pytest.raises(RunError, match="has it open"):
        copy_to_server(folder, engine, in_use)
    with closing(engine.open()) as target:
        assert target.execute(COUNT).fetchone()[0] == 0
    assert copy_to_server(folder, engine, lambda: None)[0]["own_parts"] == 1
