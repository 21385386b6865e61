"""Rows of a store in PostgreSQL, read beside the program, with the SQL of SQLite."""

from __future__ import annotations

import itertools
import re
from typing import Any

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

PATIENCE_S, PAUSE_S = 60, 0.05


def server_rows(url: str, query: str, *values: Any) -> list[dict[str, Any]]:
    """Read rows, as soon as the server answers; none where there is no such table."""
    import psycopg
    from psycopg.rows import dict_row

    numbers = itertools.count(1)
    text = re.sub(r"\?", lambda _: f"${next(numbers)}", query)
    for attempt in Retrying(
        retry=retry_if_exception_type(psycopg.OperationalError),
        stop=stop_after_delay(PATIENCE_S),
        wait=wait_fixed(PAUSE_S),
        reraise=True,
    ):
        with (
            attempt,
            psycopg.connect(url, application_name="judge", autocommit=True) as session,
            psycopg.RawCursor(session, row_factory=dict_row) as cursor,
        ):
            try:
                return cursor.execute(text, [str(value) for value in values] or None).fetchall()
            except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
                return []
    raise AssertionError("the last attempt returns or raises")
