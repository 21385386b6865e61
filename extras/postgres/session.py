"""One session with a server, and its cursors."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import TypeVar, cast

import psycopg
from psycopg.abc import PQGen

from planwright.extras.postgres.rows import ROW_NUMBER, Row

T = TypeVar("T")
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it warns of is raised here, too


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
