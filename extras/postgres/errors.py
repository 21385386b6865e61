"""Errors of psycopg as those of `sqlite3`, which PEP 249 names alike, and what to do about them."""

from __future__ import annotations

import sqlite3

import psycopg
from psycopg import errors

from planwright.domain.errors import PlanwrightError, SetupError, StoreFailed

_OF_ONE_JOB = (psycopg.IntegrityError, psycopg.DataError, psycopg.ProgrammingError, errors.RaiseException)
NO_POOLER = (
    "name the server itself in storage.url; a pooler has to keep sessions (pool_mode = session) and `options`"
)
READ_ONLY = "25006"
"""Code of the error of a write in a session that may only read."""


class ServerError(sqlite3.OperationalError):
    """The server, or the way to it, failed: nothing of the transaction may count on being there."""

    def __init__(self, error: psycopg.Error) -> None:
        super().__init__(_text(error))
        self.state = error.sqlstate or ""


class StatementRefused(sqlite3.IntegrityError):
    """The server, which works, has something against one statement: a right, a rule, a trigger, a value."""


def as_sqlite(error: psycopg.Error) -> sqlite3.Error:
    """Give an error of psycopg the class that `sqlite3` would have raised.

    A statement that is refused fails its job alone, and the others of its transaction go on.
    """
    if isinstance(error, _OF_ONE_JOB) and error.sqlstate:
        return StatementRefused(_text(error))
    return ServerError(error)


def failure(store: str, error: Exception) -> StoreFailed:
    """Say what an error of the server means for a store, and what to do about it."""
    state, text = getattr(error, "state", ""), str(error)
    if isinstance(error, StatementRefused):
        next_step = "mend what refuses it: a right, a rule or a trigger of its database"
        return StoreFailed(f"the store {store} refuses a statement: {text}", next_step)
    if state == "55P03":
        next_step = "end what holds its lock (pg_stat_activity), then try again"
        return StoreFailed(f"{store} is locked by another program", next_step)
    if state in ("53100", "53200"):
        cause = f"there is no space left on the server of {store}: {text}"
        return StoreFailed(cause, "free space; nothing is lost")
    if state == "53300":
        cause = f"the server of {store} takes no more connections: {text}"
        return StoreFailed(cause, "raise its max_connections, or end others")
    if state == READ_ONLY:
        cause = f"{store} is read-only: {text}"
        next_step = "make its database writable (default_transaction_read_only), or name the primary server"
        return StoreFailed(cause, next_step)
    if state[:2] in ("", "08", "25", "57"):
        cause = f"the connection to {store} was lost: {text}"
        return StoreFailed(cause, "see whether the server runs: planwright doctor")
    return StoreFailed(f"the store {store} failed: {text}", "look at it: planwright doctor")


def not_opened(store: str, error: psycopg.Error) -> PlanwrightError:
    """Say why a connection could not be opened. libpq gives no code for it, only words."""
    text = _text(error)
    if "startup parameter" in text:
        return SetupError(f"{store} is behind a pooler: {text}", NO_POOLER)
    if "password" in text or "authentication" in text:
        cause = f"the server of {store} refuses the login: {text}"
        return SetupError(cause, "mend user or password in storage.url, or ~/.pgpass")
    if "database" in text and "does not exist" in text:
        name = store.partition(" ")[0].rpartition("/")[2]
        return SetupError(f"{store}: {text}", f"make it: createdb {name}; or mend storage.url")
    if "role" in text and "does not exist" in text:
        return SetupError(f"{store}: {text}", "mend the user in storage.url")
    if "too many" in text or "reserved" in text:
        return StoreFailed(f"{store}: {text}", "raise max_connections of the server, or end other sessions")
    cause = f"the server of {store} cannot be reached: {text}"
    return StoreFailed(cause, "start it, or mend host and port in storage.url")


def _text(error: psycopg.Error) -> str:
    """Take the first line of an error; what comes after it are hints and the statement."""
    text = error.diag.message_primary or str(error)
    return " ".join(text.split()).removeprefix("connection failed: ")[:300]
