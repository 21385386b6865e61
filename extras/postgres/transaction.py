"""The statements of one transaction: they wait here until an answer is needed, and go to the server together.

A job whose statements still wait is undone by forgetting them; a savepoint is made for one alone that has
written something and asks for more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence

from planwright.extras.postgres.rows import Row
from planwright.extras.postgres.session import StoreCursor
from planwright.extras.postgres.translation import Statement

Values = Sequence[object]
"""The parameters of a statement, in its order."""


class Result:
    """What a statement gives, used as a cursor of `sqlite3` is: whoever looks at it lets it be sent."""

    def __init__(self, statement: Statement, rows: Sequence[Values], send: Callable[[], None]) -> None:
        self.statement = statement
        self.rows = rows
        self.cursor: StoreCursor | None = None  # set once it is sent
        self._send = send

    @property
    def writes(self) -> bool:
        """Whether it may change a row."""
        return not self.statement.text.lstrip().startswith(("SELECT", "WITH"))

    @property
    def rowcount(self) -> int:
        """Number of the rows that it changed."""
        return self._sent.rowcount if self.rows else 0

    @property
    def description(self) -> Sequence[object] | None:
        """The columns of its rows."""
        return self._sent.description

    def fetchone(self) -> Row | None:
        """Read the next row; None after the last."""
        return self._sent.fetchone()

    def fetchmany(self, size: int) -> list[Row]:
        """Read the next rows."""
        return self._sent.fetchmany(size)

    def fetchall(self) -> list[Row]:
        """Read all rows that are left."""
        return self._sent.fetchall()

    def __iter__(self) -> Iterator[Row]:
        return iter(self._sent)

    @property
    def _sent(self) -> StoreCursor:
        if self.cursor is None:
            self._send()
        if self.cursor is None:
            raise sqlite3.ProgrammingError("the transaction of this statement was ended before it was sent")
        return self.cursor


class Transaction:
    """What of a transaction has gone to the server, and what waits."""

    def __init__(self, begin: Sequence[str] = (), *, writes: bool = False, one_by_one: bool = True) -> None:
        self.writes = writes
        self.one_by_one = one_by_one
        self.begun = not begin  # whether the server knows of it
        self._begin = begin
        self._waiting: list[Result] = []
        self._ahead: dict[tuple[str, Values], sqlite3.Cursor] = {}  # answers that nobody has asked for yet
        self._in_job = False
        self._job_from = 0  # place of the first statement of the job among those that wait
        self._saved = False  # whether the server has a savepoint of the job

    @property
    def is_empty(self) -> bool:
        """Whether nothing was sent, and nothing waits."""
        return not (self.begun or self._waiting)

    def add(self, result: Result) -> None:
        """Let a statement wait; once it has written, what was asked ahead may be old."""
        if result.writes:
            self._ahead.clear()
        self._waiting.append(result)

    def expects(self, statement: Statement, values: Values) -> bool:
        """Say whether an answer is there, or on its way, that nobody has asked for yet."""
        return (statement.text, tuple(values)) in self._ahead

    def expect(self, statement: Statement, values: Values, answer: sqlite3.Cursor) -> None:
        """Keep an answer for whoever asks next."""
        self._ahead[statement.text, tuple(values)] = answer

    def answer(self, statement: Statement, values: Values) -> sqlite3.Cursor | None:
        """Give the answer to what was asked ahead, once; None for another question."""
        return self._ahead.pop((statement.text, tuple(values)), None) if self._ahead else None

    def begin_job(self) -> None:
        """Begin a job, which can be undone for itself."""
        self._ahead.clear()
        self._in_job, self._job_from, self._saved = True, len(self._waiting), False

    def end_job(self) -> None:
        """End a job; what it wrote stays with the transaction."""
        if self._saved:
            self.add(_control("RELEASE job"))
        self._in_job = self._saved = False

    def undo_job(self) -> None:
        """Undo what a job wrote, and what it required."""
        del self._waiting[self._job_from :]
        if self._saved:
            self.add(_control("ROLLBACK TO job"))

    def take(self) -> list[Result]:
        """Take what waits, with what has to be sent before it."""
        sent = self._waiting
        if self._in_job and not self._saved and any(result.writes for result in sent[self._job_from :]):
            sent.insert(self._job_from, _control("SAVEPOINT job"))
            self._saved = True
        if sent and not self.begun:
            sent[:0] = map(_control, self._begin)
        self._waiting, self._job_from, self.begun = [], 0, self.begun or bool(sent)
        return sent

    def end(self) -> list[Result]:
        """Take what waits, and the COMMIT behind it."""
        self.add(_control("COMMIT"))
        return self.take()


def _control(text: str) -> Result:
    return Result(Statement(text, (), False), ((),), lambda: None)
