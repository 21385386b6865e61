"""Opens the connections of a store in PostgreSQL: one that writes, one that reads, and that of the owner."""

from __future__ import annotations

import logging
import math
import sqlite3
from typing import cast

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from planwright.domain.errors import PlanwrightError, SetupError, StoreFailed
from planwright.domain.hashing import sha256
from planwright.extras.postgres import errors
from planwright.extras.postgres.address import Address
from planwright.extras.postgres.connection import LifeOf, PostgresConnection
from planwright.extras.postgres.functions import FUNCTIONS, NUMBERS, WORDS
from planwright.extras.postgres.layout import as_postgres, numbered, statements
from planwright.extras.postgres.pooler import refuse_pooler
from planwright.extras.postgres.rows import row_factory
from planwright.extras.postgres.session import Connected, StoreCursor
from planwright.security.redaction.redactor import Redactor
from planwright.store.migrations import indexes
from planwright.store.store_errors import check_readable

_LOG = logging.getLogger("planwright.checkpoints")
CONNECT_S = 10
ANSWER_S = 15
"""Seconds that a server may be silent for, beyond those that a statement may wait for a lock."""
STARTING = ("starting up", "in recovery mode", "not yet accepting", "is shutting down")
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED"
"""Each statement sees what was committed before it: at any other level, which a database or a role may have
as its default, a job would not see what was committed while it waited for the lock."""
READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresEngine:
    """Opens connections to one schema of one database."""

    readers = 4  # each waits for the way to the server and back, and the others go on meanwhile

    def __init__(
        self, address: Address, migrations: tuple[str, ...], busy_timeout_s: float, redactor: Redactor | None
    ) -> None:
        self.address = address
        self._migrations = migrations
        self._busy_timeout_s = busy_timeout_s
        self._redactor = redactor
        self.life_of: LifeOf | None = None  # set by the owners, which connect by this engine
        self._alone = f"SELECT pg_advisory_xact_lock({address.lock})"
        self._beside = f"SELECT pg_advisory_xact_lock_shared({address.lock})"

    @property
    def label(self) -> str:
        """Name host, port and database."""
        return self.address.label

    def exists(self) -> bool:
        """Say that there is one: who opens it makes its tables."""
        return True

    def open(self) -> sqlite3.Connection:
        """Open a session that writes, and bring the tables up to date."""
        try:
            first = self.connect()
        except psycopg.Error as error:
            raise errors.not_opened(self.label, error) from None
        try:
            self._bring_up_to_date(first)
        except psycopg.Error as error:
            first.close()
            raise self.failure(errors.as_sqlite(error)) from error
        except PlanwrightError:
            first.close()
            raise
        return self._session(first, self._redactor)

    def open_to_read(self) -> sqlite3.Connection:
        """Open a session that reads."""
        try:
            return self._session(self.connect(), None)
        except psycopg.Error as error:
            raise errors.as_sqlite(error) from error

    def open_checked(self, redactor: Redactor | None = None) -> sqlite3.Connection:
        """Open a session that reads what is there; with a redactor no secret comes out.

        Raises StoreFailed, SetupError for a store of a newer program.
        """
        try:
            session = self.connect("-c default_transaction_read_only=on")
        except psycopg.Error as error:
            raise errors.not_opened(self.label, error) from None
        session.silence_s = math.inf  # a person who waits too long for a query can end it
        try:
            version = _version(session)
            self._refuse_newer(version)
            if version is not None:
                check_readable(cast(sqlite3.Connection, session))
        except psycopg.Error as error:  # a role that may not read, say
            session.close()
            raise self.failure(errors.as_sqlite(error)) from error
        except SetupError:
            session.close()
            raise
        if redactor is not None:
            session.adapters.register_loader("text", _redacted_by(redactor))
        return self._session(session, None)

    def ask(self, connection: sqlite3.Connection, sql: str) -> sqlite3.Cursor:
        """Run one statement that a person wrote, as it is. Raises sqlite3.Error."""
        return cast(PostgresConnection, connection).execute_as_written(sql)

    def begin(
        self, connection: sqlite3.Connection, *, synced: bool, beside: bool = False, one_by_one: bool = False
    ) -> None:
        """Take the lock of the store for one transaction: for itself, or together with others `beside` it.

        Every commit waits for the disk: a server whose process is killed loses what it had not written
        (postgresql.org/docs/current/wal-async-commit.html).
        """
        session, lock = cast(PostgresConnection, connection), self._beside if beside else self._alone
        session.begin(WRITING, lock, writes=True, one_by_one=one_by_one)

    def begin_reading(self, connection: sqlite3.Connection) -> None:
        """See what was committed before the first statement, and nothing after."""
        cast(PostgresConnection, connection).begin(READING, writes=False)

    def store_id(self, connection: sqlite3.Connection) -> str:
        """Read the name of the store, which its standbys and dumps have, too. Raises sqlite3.Error."""
        return str(connection.execute("SELECT id FROM store_id").fetchone()[0])

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Do nothing: the server sees to it (PostgreSQL 18, 24.1.2, Recovering Disk Space)."""

    def failure(self, error: Exception) -> StoreFailed:
        """Say in words what an error of the server means for the store."""
        return errors.failure(self.label, error)

    def connect(self, more: str = "") -> Connected:
        """Open a session, as soon as a server that is being started takes one.

        Raises psycopg.Error, SetupError for a database that cannot hold every text, or behind a pooler.
        """
        for attempt in Retrying(
            retry=retry_if_exception(lambda error: any(text in str(error) for text in STARTING)),
            stop=stop_after_delay(self._busy_timeout_s),
            wait=wait_random(0.02, 0.2),
            reraise=True,
        ):
            with attempt:
                session = self._connect(more)
        self._refuse_encoding(session)
        try:
            refuse_pooler(session, lambda: self._connect(more), self.address)
        except (psycopg.Error, SetupError):
            session.close()
            raise
        session.adapters.register_loader("numeric", _Numbers)
        session.adapters.register_loader("bool", _Truths)
        session.silence_s = self._busy_timeout_s + ANSWER_S
        return session

    def _connect(self, more: str) -> Connected:
        timeout_ms = max(1, int(self._busy_timeout_s * 1000))
        options = (
            f'-c search_path="{self.address.schema}" -c lock_timeout={timeout_ms}'
            f" -c idle_in_transaction_session_timeout={max(timeout_ms, 10_000)}"
            " -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"
            f" -c client_min_messages=warning {more}"
        )
        return Connected.connect(
            self.address.conninfo,
            autocommit=True,
            cursor_factory=StoreCursor,
            row_factory=row_factory,
            options=options,
            client_encoding="UTF8",
            fallback_application_name="planwright",
            connect_timeout=CONNECT_S,
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=30_000,
        )

    def _session(self, first: Connected, redactor: Redactor | None) -> sqlite3.Connection:
        shared_rows = f"SELECT pg_advisory_xact_lock({self.address.lock_of_shared_rows})"
        patience_s = self._busy_timeout_s
        session = PostgresConnection(self.connect, first, redactor, self.life_of, shared_rows, patience_s)
        return cast(sqlite3.Connection, session)

    def _bring_up_to_date(self, connection: Connected) -> None:
        """Make the schema and its tables, and what newer programs have added."""
        index_texts = [*map(numbered, indexes(self._migrations).values()), *NUMBERS]
        wanted = (len(self._migrations), sha256([*FUNCTIONS, *WORDS, *index_texts]))
        schema, run = self.address.schema, connection.execute
        if _version(connection) == wanted:
            return
        silence_s, connection.silence_s = connection.silence_s, math.inf  # large tables take long
        run(
            f'{WRITING}; {self._alone}; CREATE SCHEMA IF NOT EXISTS "{schema}";'
            " CREATE TABLE IF NOT EXISTS store_version (migrations bigint NOT NULL, functions text NOT NULL)"
        )
        try:
            done = (_version(connection) or (0, ""))[0]
            self._refuse_newer(_version(connection))
            texts = [as_postgres(text) for script in self._migrations[done:] for text in statements(script)]
            for text in filter(None, (*texts, *FUNCTIONS, *WORDS, *index_texts)):
                run(text)
            run("DELETE FROM store_version")
            run("INSERT INTO store_version VALUES ($1, $2)", wanted)
            run("COMMIT")
        except (psycopg.Error, PlanwrightError):
            if not connection.closed:
                run("ROLLBACK")
            raise
        connection.silence_s = silence_s
        if 0 < done < len(self._migrations):
            _LOG.info("%s migrated from version %d to %d", self.label, done, len(self._migrations))

    def _refuse_encoding(self, session: Connected) -> None:
        """Refuse a database that cannot hold every text: a run would fail half-way. Raises SetupError."""
        encoding = session.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            session.close()
            cause = f"{self.label} holds texts as {encoding}, which lacks letters that a run may write"
            raise SetupError(cause, "make another database: createdb -E UTF8 -T template0 NAME")

    def _refuse_newer(self, version: tuple[int, str] | None) -> None:
        if version and version[0] > len(self._migrations):
            raise SetupError(
                f"{self.label} was written by a newer planwright (its tables have version {version[0]}, this"
                f" program knows {len(self._migrations)}); nothing was changed",
                "install that version, or put back a dump from before (pg_restore)",
            )


def _version(connection: Connected) -> tuple[int, str] | None:
    """Read how many migrations a schema has had; None for one that is not there yet."""
    there = connection.execute("SELECT to_regclass('store_version')").fetchone()
    if there is None or there[0] is None:
        return None
    row = connection.execute("SELECT migrations, functions FROM store_version").fetchone()
    return None if row is None else (row[0], row[1])


def _redacted_by(redactor: Redactor) -> type[Loader]:
    class Redacted(Loader):
        """Reads texts without the secrets in them."""

        def load(self, data: Buffer) -> str:
            """Read a text."""
            return redactor.document(bytes(data).decode())

    return Redacted


class _Numbers(Loader):
    """Sums of integers are numeric to PostgreSQL, and integers to the stores."""

    def load(self, data: Buffer) -> int | float:
        """Read a number as an int where it is whole."""
        text = bytes(data).decode()
        return float(text) if "." in text or "N" in text else int(text)


class _Truths(Loader):
    """A comparison is a number to the stores, 1 or 0."""

    def load(self, data: Buffer) -> int:
        """Read a truth value."""
        return int(bytes(data) == b"t")
