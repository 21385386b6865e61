"""A connection to PostgreSQL that is used as one of `sqlite3` is.

BEGIN, SAVEPOINT and RELEASE wait for the statement that comes after them, and go to the server with it: a
transaction without a statement costs nothing, and one that finds its connection lost before its first
statement begins on a new one.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import time
from collections.abc import Callable, Iterable
from typing import Literal, TypeVar, cast

import psycopg
from psycopg.abc import PQGen
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random

from planwright.extras.postgres.errors import READ_ONLY, ServerError, as_sqlite
from planwright.extras.postgres.rows import ROW_NUMBER, Row
from planwright.extras.postgres.translation import Parameters, Statement, selects_all, translated
from planwright.security.redaction.connection import redacted_parameters
from planwright.security.redaction.redactor import Redactor

T = TypeVar("T")
LifeOf = Callable[[str], Literal["alive", "dead", "unknown"]]
"""Says whether the owner that a row names still lives."""
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it warns of is raised here, too
_WAITING = ("SAVEPOINT", "RELEASE", "ROLLBACK TO")


class StoreCursor(psycopg.RawCursor[Row]):
    """A cursor that knows whether its statement asked for all columns."""

    hides_row_number = False
    """Whether the number of a row is left out of the rows."""

    @property
    def description(self) -> list[psycopg.Column] | None:
        """The columns of the result, as its rows have them."""
        columns = super().description
        if not columns or not self.hides_row_number:
            return columns
        return [column for column in columns if column.name != ROW_NUMBER]

    @property
    def hidden_place(self) -> int | None:
        """Where the number of a row is in what the server sends, if it is left out."""
        names = [column.name for column in super().description or ()] if self.hides_row_number else []
        return names.index(ROW_NUMBER) if ROW_NUMBER in names else None


class Connected(psycopg.Connection[Row]):
    """A session that does not wait for ever for a server, or a way to it, that takes all and answers nothing.

    The keepalives of TCP do not see that: what stands between the two may answer them.
    """

    silence_s = math.inf
    """Seconds without a byte of the server after which the session is taken for lost."""

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for an answer. Raises OperationalError, as for a lost session, where nothing comes."""
        return super().wait(self._heard(gen), interval)  # psycopg 3.2 takes no timeout

    def _heard(self, gen: PQGen[T]) -> PQGen[T]:
        try:
            wanted, since = next(gen), time.monotonic()
            while True:
                ready = yield wanted
                if ready:
                    since = time.monotonic()
                elif time.monotonic() - since > self.silence_s:
                    self.close()
                    raise psycopg.OperationalError(f"no answer within {self.silence_s:g} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            return cast(T, end.value)


Connect = Callable[[], Connected]


class PostgresConnection:
    """One session, opened anew where it was lost between two transactions."""

    def __init__(
        self,
        connect: Connect,
        first: Connected,
        redactor: Redactor | None,
        life_of: LifeOf | None,
        patience_s: float,
    ) -> None:
        self.life_of = life_of
        self._patience_s = patience_s
        self._connect = connect
        self._redactor = redactor
        self._inner = first
        self._begin = ""
        self._waiting: list[str] = []  # control statements that have not gone to the server

    def begin(self, statement: str) -> None:
        """Begin a transaction by a statement that goes to the server with the first of the job."""
        self._begin, self._waiting = statement, []

    def execute(self, sql: str, parameters: Parameters = (), /) -> sqlite3.Cursor:
        """Run a statement of the stores. Raises sqlite3.Error."""
        if sql.startswith(_WAITING):
            self._waiting.append(sql)
        elif sql == "COMMIT":
            self._end(sql)
        elif sql == "ROLLBACK":
            self._begin, self._waiting = "", []
            self._run(Statement(sql, (), False), None)
        else:
            self._flush()
            statement = translated(sql)
            return self._run(statement, self._values(statement, parameters))
        return self._nothing()

    def execute_as_written(self, sql: str) -> sqlite3.Cursor:
        """Run one statement that a person wrote, in PostgreSQL's own SQL. Raises sqlite3.Error.

        A prepared statement is one: a second behind a semicolon is refused (PostgreSQL, PREPARE).
        """
        self._flush()
        cursor = self._cursor(Statement(sql, (), selects_all(sql)))
        try:
            cursor.execute(sql, None, prepare=True)
        except psycopg.Error as error:
            raise self._failed(error) from error
        return cursor  # type: ignore[return-value]

    def executemany(self, sql: str, parameters: Iterable[Parameters], /) -> sqlite3.Cursor:
        """Run a statement once for each row. Raises sqlite3.Error."""
        statement = translated(sql)
        rows = [self._values(statement, row) for row in parameters]
        if not rows:
            return self._nothing()
        self._flush()
        if len(rows) == 1:
            return self._run(statement, rows[0])
        cursor = self._cursor(statement)
        try:
            cursor.executemany(statement.text, rows)
        except psycopg.Error as error:
            raise self._failed(error) from error
        return cursor  # type: ignore[return-value]

    def close(self) -> None:
        """End the session."""
        self._inner.close()

    def _end(self, statement: str) -> None:
        """Commit, unless nothing was sent that could be committed."""
        if self._begin:
            self._begin, self._waiting = "", []
            return
        waiting, self._waiting = [text for text in self._waiting if not text.startswith("RELEASE")], []
        cursor = cast(StoreCursor, self._run(Statement("; ".join((*waiting, statement)), (), False), None))
        while cursor.nextset():  # the last one is that of the commit
            pass
        if cursor.statusmessage != statement:  # the server says ROLLBACK, and no error
            raise ServerError(psycopg.OperationalError("the transaction had failed and was undone"))

    def _flush(self) -> None:
        """Send what waits; where the session was lost before anything was sent in it, on a new one."""
        if not (self._begin or self._waiting):
            return
        begins = bool(self._begin)
        statement = Statement("; ".join(filter(None, (self._begin, *self._waiting))), (), False)
        try:
            if begins and self._inner.closed:
                raise ServerError(psycopg.OperationalError("the connection is closed"))
            self._run(statement, None)
        except ServerError:
            if not begins or not self._inner.closed:
                raise
            self._reopen()
            self._run(statement, None)
        self._begin, self._waiting = "", []

    def _reopen(self) -> None:
        """Open a new session, as soon as the server takes one: one that is started again takes a while."""
        try:
            for attempt in Retrying(
                retry=retry_if_exception_type(psycopg.OperationalError),
                stop=stop_after_delay(self._patience_s),
                wait=wait_random(0.05, 0.25),
                reraise=True,
            ):
                with attempt:
                    self._inner = self._connect()
        except psycopg.Error as error:
            raise as_sqlite(error) from error

    def _run(self, statement: Statement, values: list[object] | None) -> sqlite3.Cursor:
        cursor = self._cursor(statement)
        try:
            cursor.execute(statement.text, values or None)
        except psycopg.Error as error:
            raise self._failed(error) from error
        return cursor  # type: ignore[return-value]

    def _failed(self, error: psycopg.Error) -> sqlite3.Error:
        """Give the error of a statement its class; a session that may only read is not used again.

        It was opened while its database was read-only, and would stay so.
        """
        if error.sqlstate == READ_ONLY:
            self._inner.close()
        return as_sqlite(error)

    def _cursor(self, statement: Statement) -> StoreCursor:
        try:
            cursor = cast(StoreCursor, self._inner.cursor())
        except psycopg.Error as error:
            raise as_sqlite(error) from error
        cursor.hides_row_number = statement.hides_row_number
        return cursor

    def _nothing(self) -> sqlite3.Cursor:
        return StoreCursor(self._inner)  # type: ignore[return-value]

    def _values(self, statement: Statement, parameters: Parameters) -> list[object]:
        if self._redactor is not None:
            parameters = redacted_parameters(parameters, self._redactor)
        return [_as_literal(value) for value in statement.ordered(parameters)]


def _as_literal(value: object) -> object:
    """Write a number as text: the server gives it the type of the column, as SQLite does."""
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str) and "\0" in value:
        return value.replace("\0", "\ufffd")  # no text to PostgreSQL
    return value
