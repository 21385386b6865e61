"""The store of a workspace, opened from outside of the program: its file, or its schema with `--postgres`."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Self, cast

from planwright.extras.postgres.server import server_of
from planwright.store.migrations import MIGRATIONS
from tests.patience import PATIENCE_S

URL = "PLANWRIGHT_STORAGE__URL"


def store_url() -> str:
    """Give the address of the store of this test; empty where it is a file."""
    return os.environ.get(URL, "")


def opened_store(folder: Path) -> sqlite3.Connection:
    """Open the store in a folder. Who changes anything commits it."""
    if url := store_url():
        return cast(sqlite3.Connection, _Outside(server_of(url, MIGRATIONS, PATIENCE_S, None).engine.open()))
    connection = sqlite3.connect(folder / "planwright.db")
    connection.row_factory = sqlite3.Row
    return connection


class _Outside:
    """A session that commits each statement, and takes what is said to a file about that."""

    def __init__(self, session: sqlite3.Connection) -> None:
        self.execute = session.execute
        self.executemany = session.executemany
        self.close = session.close

    def commit(self) -> None:
        """Do nothing: it is done."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the session: nobody else does."""
        self.close()
