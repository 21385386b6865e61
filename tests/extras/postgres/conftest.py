"""The row of a run that has just begun, and the store opened once more, as another process would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from planwright.extras.postgres.server import server_of
from planwright.security.redaction.redactor import Redactor
from planwright.store.database import Database
from planwright.store.migrations import MIGRATIONS
from tests.patience import PATIENCE_S
from tests.store.conftest import make_run as make_run

Open = Callable[..., Database]


@pytest.fixture
def opened(store_url: str, tmp_path: Path) -> Iterator[Open]:
    """Open the store once more, as another process would."""
    databases: list[Database] = []

    def open_it(busy_timeout_s: float = PATIENCE_S, redactor: Redactor | None = None) -> Database:
        engine = server_of(store_url, MIGRATIONS, busy_timeout_s, redactor).engine
        databases.append(Database(tmp_path / "planwright.db", MIGRATIONS, engine=engine))
        return databases[-1]

    yield open_it
    for database in databases:
        database.close()
