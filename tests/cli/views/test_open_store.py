"""The records opened for reading: a store that is refused leaves nothing open."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from planwright.cli.views.audit.chain_views import open_records_file
from planwright.cli.views.open_store import open_store
from planwright.domain.errors import SetupError
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
