"""A store in a database server: what it is made of. Nothing of it is loaded where no URL is set."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from planwright.domain.plugins import plugin
from planwright.security.redaction.redactor import Redactor
from planwright.store.blobs import Blobs
from planwright.store.database import Database
from planwright.store.engines.engine import Engine
from planwright.store.marks.mark import Mark
from planwright.store.migrations import MIGRATIONS
from planwright.store.owners import OwnerLocks

SCHEME = "postgresql"


class ServerEngine(Engine, Protocol):
    """Opens connections to a store in a server."""

    def open_checked(self, redactor: Redactor | None = None) -> sqlite3.Connection:
        """Open the store to read; with a redactor no secret comes out. Raises SetupError, StoreFailed."""

    def ask(self, connection: sqlite3.Connection, sql: str) -> sqlite3.Cursor:
        """Ask what a person wrote, as it is written. Raises sqlite3.Error."""


class StoreServer(Protocol):
    """One store in a server, by the parts that differ from those of a folder."""

    @property
    def engine(self) -> ServerEngine:
        """Opens its connections."""

    @property
    def owners(self) -> OwnerLocks:
        """Knows who holds runs in it."""

    @property
    def blobs(self) -> Callable[[Database], Blobs]:
        """Makes the table of large contents."""

    def mark(self, folder: Path) -> Mark:
        """Name the mark that this machine has of the store, in the folder of a workspace."""

    def check_standbys(self) -> str:
        """Say what a commit waits for. Raises SetupError where a standby may lack what was committed."""

    def as_files(self) -> AbstractContextManager[Path]:
        """Copy the store, as it is at one moment, into a folder that lasts as long as this."""

    def copy_here(self, folder: Path, check_unused: Callable[[], None]) -> tuple[dict[str, int], int]:
        """Copy the store of a folder into the server. Returns the rows by table, and the blobs."""


class OpenStoreServer(Protocol):
    """Names the parts of a store by its URL."""

    def __call__(
        self, url: str, migrations: tuple[str, ...], busy_timeout_s: float, redactor: Redactor | None
    ) -> StoreServer:
        """Open nothing yet. Raises SetupError for a URL that names none, or where a package is missing."""


def open_store_server(url: str, busy_timeout_s: float, redactor: Redactor | None = None) -> StoreServer:
    """Name the parts of the store behind `storage.url`; nothing is opened yet. Raises SetupError."""
    opened: OpenStoreServer = plugin("stores", SCHEME)
    return opened(url, MIGRATIONS, busy_timeout_s, redactor)
