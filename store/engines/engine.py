"""What differs between the databases that a store can be kept in; all else is written once.

The SQL of the stores is SQLite's. A connection is used as one of `sqlite3` is: `execute` and `executemany`,
rows by index and by name, errors of the classes that PEP 249 names, as `sqlite3` has them.
"""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from planwright.domain.errors import StoreFailed

Parameters = Sequence[object] | Mapping[str, object]
"""Values of a statement, by place or by name."""
Question = tuple[str, Parameters]
"""A statement that reads, and its values."""


class Engine(Protocol):
    """Opens connections to one store, and says how a transaction begins there."""

    @property
    def readers(self) -> int:
        """Most connections that read at the same time."""

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

    def begin(
        self, connection: sqlite3.Connection, *, synced: bool, beside: bool = False, one_by_one: bool = False
    ) -> None:
        """Begin a transaction that no other process is in at the same time, or only such as may run `beside`.

        A loss of power undoes none that is `synced`. `one_by_one` awaits each statement before the next.
        Raises sqlite3.Error.
        """

    def begin_reading(self, connection: sqlite3.Connection) -> None:
        """Begin to read the store as it is at one moment. Raises sqlite3.Error."""

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Give the space of deleted rows back to the disk, as far as that is quick and nobody else writes."""

    def failure(self, error: Exception) -> StoreFailed:
        """Say in words what an error of the database means, and what to do about it."""


class Unattributed(Exception):
    """One of several statements that were sent together was refused: whose it was is seen one by one."""


class Pipelined(ABC):
    """A connection whose statements wait for each other, and go to a server together."""

    @abstractmethod
    def required(self, condition: str, parameters: Parameters) -> bool:
        """Let the transaction fail unless a condition holds; False where the caller has to ask for it."""

    @abstractmethod
    def ahead(self, questions: Iterable[Question]) -> None:
        """Send what will be asked next together with the first of it."""

    @abstractmethod
    def lock_shared_rows(self) -> None:
        """Let no other transaction write rows that belong to no run, until this one has ended."""


def require(
    connection: sqlite3.Connection,
    condition: str,
    parameters: Sequence[object],
    refusal: Callable[[], Exception],
) -> None:
    """Raise a refusal unless a condition of SQL holds, at once or when the transaction goes to the server."""
    if isinstance(connection, Pipelined) and connection.required(condition, parameters):
        return
    if not connection.execute(f"SELECT {condition}", parameters).fetchone()[0]:
        raise refusal()


def ask_ahead(connection: sqlite3.Connection, *questions: Question) -> None:
    """Say what a job asks next, before it writes: a server then answers all of it at once."""
    if isinstance(connection, Pipelined):
        connection.ahead(questions)


def lock_shared_rows(connection: sqlite3.Connection) -> None:
    """Take the lock of rows that belong to no single run, before they are read to be written."""
    if isinstance(connection, Pipelined):
        connection.lock_shared_rows()
