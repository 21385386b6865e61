"""What differs between the databases that a store can be kept in; all else is written once.

The SQL of the stores is SQLite's. A connection is used as one of `sqlite3` is: `execute` and `executemany`,
rows by index and by name, errors of the classes that PEP 249 names, as `sqlite3` has them.
"""

from __future__ import annotations

import sqlite3
from typing import Protocol

from planwright.domain.errors import StoreFailed


class Engine(Protocol):
    """Opens connections to one store, and says how a transaction begins there."""

    @property
    def label(self) -> str:
        """Name of the store for a person, without any password."""

    def exists(self) -> bool:
        """Say whether there is a store to read; looking makes none."""

    def open(self) -> sqlite3.Connection:
        """Open the store for writing, its tables brought up to date.

        Raises StoreFailed where it cannot be used, SetupError for one of a newer program.
        """

    def open_to_read(self) -> sqlite3.Connection:
        """Open the store for reading beside the writes. Raises sqlite3.Error."""

    def begin(self, connection: sqlite3.Connection, *, synced: bool) -> None:
        """Begin a transaction that no other process is in at the same time; a loss of power undoes none
        that is `synced`. Raises sqlite3.Error.
        """

    def begin_reading(self, connection: sqlite3.Connection) -> None:
        """Begin to read the store as it is at one moment. Raises sqlite3.Error."""

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Give the space of deleted rows back to the disk, as far as that is quick and nobody else writes."""

    def failure(self, error: Exception) -> StoreFailed:
        """Say in words what an error of the database means, and what to do about it."""
