"""A connection to PostgreSQL that is used as one of `sqlite3` is.

What a statement answers is awaited once somebody looks at it. Until then it waits with those before it, and
they go to the server as one message (libpq, Pipeline Mode): a trip for each answer that a job needs, and one
for the commit. A transaction without a statement costs nothing, and one whose connection is lost before
anything of it was sent is done on a new one.
"""

from __future__ import annotations

import select
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, cast

import psycopg
from psycopg import generators
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random

from planwright.extras.postgres.errors import READ_ONLY, ServerError, StatementRefused, as_sqlite
from planwright.extras.postgres.session import Connected, StoreCursor
from planwright.extras.postgres.transaction import Result, Transaction, Values
from planwright.extras.postgres.translation import Parameters, Statement, selects_all, translated
from planwright.security.redaction.connection import redacted_parameters
from planwright.security.redaction.redactor import Redactor
from planwright.store.engines.engine import Pipelined, Question, Unattributed

LifeOf = Callable[[str], Literal["alive", "dead", "unknown"]]
"""Says whether the owner that a row names still lives."""
Connect = Callable[[], Connected]


class PostgresConnection(Pipelined):
    """One session, opened anew where it was lost between two transactions."""

    def __init__(
        self,
        connect: Connect,
        first: Connected,
        redactor: Redactor | None,
        life_of: LifeOf | None,
        shared_rows: str,
        patience_s: float,
    ) -> None:
        self.life_of = life_of
        self._shared_rows = shared_rows
        self._patience_s = patience_s
        self._connect = connect
        self._redactor = redactor
        self._inner = first
        self._transaction = Transaction()
        self._is_leaving = False  # whether the server still has to answer to the end of one that only read

    def begin(self, *statements: str, writes: bool, one_by_one: bool = False) -> None:
        """Begin a transaction by statements that go to the server with the first that is awaited.

        `one_by_one` sends each at once: what the server refuses is then an error of the job that sent it.
        """
        self._transaction = Transaction(statements, writes=writes, one_by_one=one_by_one)

    def execute(self, sql: str, parameters: Parameters = (), /) -> sqlite3.Cursor:
        """Run a statement of the stores. Raises sqlite3.Error, Unattributed."""
        if sql == "SAVEPOINT job":
            self._transaction.begin_job()
        elif sql == "RELEASE job":
            self._transaction.end_job()
        elif sql == "ROLLBACK TO job":
            self._transaction.undo_job()
        elif sql == "COMMIT":
            self._commit()
        elif sql == "ROLLBACK":
            self._roll_back()
        else:
            statement = translated(sql)
            values = self._values(statement, parameters)
            return self._transaction.answer(statement, values) or self._queued(statement, [values])
        return self._queued(Statement("", (), False), [])

    def executemany(self, sql: str, parameters: Iterable[Parameters], /) -> sqlite3.Cursor:
        """Run a statement once for each row. Raises sqlite3.Error, Unattributed."""
        statement = translated(sql)
        return self._queued(statement, [self._values(statement, row) for row in parameters])

    def execute_as_written(self, sql: str) -> sqlite3.Cursor:
        """Run one statement that a person wrote, in PostgreSQL's own SQL. Raises sqlite3.Error.

        A prepared statement is one: a second behind a semicolon is refused (PostgreSQL, PREPARE).
        """
        try:
            cursor = self._cursor(Statement(sql, (), selects_all(sql)))
            cursor.execute(sql, None, prepare=True)
        except psycopg.Error as error:
            raise self._failed(error) from error
        return cursor  # type: ignore[return-value]

    def required(self, condition: str, parameters: Parameters) -> bool:
        """Let the transaction fail unless a condition holds; False where the caller has to ask for it."""
        if self._transaction.one_by_one:
            return False
        self.execute(f"SELECT required({condition})", parameters)
        return True

    def ahead(self, questions: Iterable[Question]) -> None:
        """Send what will be asked next together with the first of it."""
        transaction = self._transaction
        for sql, parameters in questions if not transaction.one_by_one else ():
            statement = translated(sql)
            values = self._values(statement, parameters)
            if not transaction.expects(statement, values):
                transaction.expect(statement, values, self._queued(statement, [values]))

    def lock_shared_rows(self) -> None:
        """Let no other transaction write rows that belong to no run, until this one has ended."""
        self.execute(self._shared_rows)

    def close(self) -> None:
        """End the session."""
        self._inner.close()

    def _queued(self, statement: Statement, rows: Sequence[Values]) -> sqlite3.Cursor:
        result = Result(statement, rows, self._send)
        if rows:
            self._transaction.add(result)
            if self._transaction.one_by_one or (result.writes and not self._transaction.writes):
                self._send()
        return cast(sqlite3.Cursor, result)

    def _commit(self) -> None:
        """Commit, unless nothing was sent that could be committed."""
        transaction = self._transaction
        if not transaction.is_empty:
            if not transaction.writes:
                self._leave()
            else:
                begins = not transaction.begun
                if begins and self._is_lost():
                    self._reopen()
                sent = transaction.end()
                self._deliver(sent)
                done = sent[-1].cursor
                if done is None or done.statusmessage != "COMMIT":  # the server says ROLLBACK, and no error
                    raise ServerError(psycopg.OperationalError("the transaction had failed and was undone"))
        self._transaction = Transaction()

    def _leave(self) -> None:
        """End a transaction that only read; the answer of the server is awaited by whoever comes next."""
        self._transaction.take()
        try:
            self._inner.pgconn.send_query(b"COMMIT")
            self._inner.wait(generators.send(self._inner.pgconn))
        except psycopg.Error as error:
            raise as_sqlite(error) from error
        self._is_leaving = True

    def _roll_back(self) -> None:
        begun, self._transaction = self._transaction.begun, Transaction()
        if begun:
            self._queued(Statement("ROLLBACK", (), False), [()])

    def _send(self) -> None:
        """Send what waits; where the session was lost before anything was sent in it, on a new one."""
        begins = not self._transaction.begun
        sent = self._transaction.take()
        if not begins:
            self._deliver(sent)
            return
        try:
            if self._inner.closed:
                raise ServerError(psycopg.OperationalError("the connection is closed"))
            self._deliver(sent)
        except ServerError:
            if not self._inner.closed:
                raise
            self._reopen()
            self._deliver(sent)

    def _deliver(self, sent: Sequence[Result]) -> None:
        """Send statements as one message, and await what the server answers."""
        try:
            if self._is_leaving:
                self._is_leaving = False
                self._inner.wait(generators.fetch_many(self._inner.pgconn))
            if len(sent) == 1:
                self._execute(sent[0])
                return
            with self._inner.pipeline():
                for result in sent:
                    self._execute(result)
        except psycopg.Error as error:
            problem = self._failed(error)
            together = self._transaction.writes and not self._transaction.one_by_one
            if isinstance(problem, StatementRefused) and together:
                raise Unattributed(str(problem)) from error
            raise problem from error

    def _execute(self, result: Result) -> None:
        cursor = self._cursor(result.statement)
        if len(result.rows) == 1:
            cursor.execute(result.statement.text, result.rows[0] or None)
        else:
            cursor.executemany(result.statement.text, result.rows)
        result.cursor = cursor

    def _is_lost(self) -> bool:
        """Say whether a session that nothing was asked of has ended: then there is something to read."""
        return self._inner.closed or bool(select.select([self._inner.fileno()], [], [], 0)[0])

    def _reopen(self) -> None:
        """Open a new session, as soon as the server takes one: one that is started again takes a while."""
        self._inner.close()
        try:
            for attempt in Retrying(
                retry=retry_if_exception_type(psycopg.OperationalError),
                stop=stop_after_delay(self._patience_s),
                wait=wait_random(0.05, 0.25),
                reraise=True,
            ):
                with attempt:
                    self._inner, self._is_leaving = self._connect(), False
        except psycopg.Error as error:
            raise as_sqlite(error) from error

    def _failed(self, error: psycopg.Error) -> sqlite3.Error:
        """Give the error of a statement its class; a session that may only read is not used again.

        It was opened while its database was read-only, and would stay so.
        """
        if error.sqlstate == READ_ONLY:
            self._inner.close()
        return as_sqlite(error)

    def _cursor(self, statement: Statement) -> StoreCursor:
        cursor = cast(StoreCursor, self._inner.cursor())
        cursor.hides_row_number = statement.hides_row_number
        return cursor

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
    if isinstance(value, str) and not value.isascii():
        value.encode()  # half a character is an error of this job, and of no other that is sent with it
    return value
