"""Who holds runs of a store in PostgreSQL: processes, each of which has a session that holds a lock.

The server drops the lock with the session: when the process dies, when its machine or network is gone for
longer than the keepalives of TCP, when somebody ends the session. A process that loses only its session takes
the lock again at once, under the same name.
"""

from __future__ import annotations

import os
import select
import threading
from contextlib import ExitStack

import psycopg

from planwright.domain.errors import StoreFailed
from planwright.extras.postgres import errors
from planwright.extras.postgres.engine import PostgresEngine
from planwright.extras.postgres.session import Connected
from planwright.store.owners import Life, Owner, is_running, owner_of, this_process

WATCH_S, RETRY_S = 1.0, 0.25
_TRY = "SELECT pg_try_advisory_lock($1)"
_HELD = """SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32) | objid::bigint = $1)"""


class PostgresOwners:
    """The locks of a store's owners."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine
        self._me: Owner | None = None
        self._session: Connected | None = None
        self._holds = False  # whether the session has the lock of this process
        self._using = threading.RLock()
        self._closed = threading.Event()

    def me(self) -> Owner:
        """Name this process as an owner; the first call takes its lock. Raises StoreFailed."""
        with self._using:
            if self._me is not None and self._me.pid != str(
                os.getpid()
            ):  # a fork has no session of its parent
                self._me, self._session = None, None
            if self._me is None:
                self._me, self._holds, self._closed = this_process(), False, threading.Event()
                try:
                    self._ask("SELECT 1.0::float8")
                except StoreFailed:
                    self._me = None  # else the next call would name a process without its lock
                    raise
                threading.Thread(target=self._watch, args=(self._closed,), name="owner", daemon=True).start()
            return self._me

    def life_of(self, text: str) -> Life:
        """Say whether the owner that a row names still lives. Raises StoreFailed.

        One without its lock has died, or has lost its session alone. Where nobody here can see its process
        only the end of its lease decides: a call that is under way there is not made again meanwhile.
        """
        owner = owner_of(text)
        if owner.in_sight and not is_running(owner):
            return "dead"  # the server may not have noticed yet
        (held,) = self._ask(_HELD, _number(owner))
        if held:
            return "alive"
        if owner.same_process_as(this_process()):  # another agent of this process, which is closed
            return "dead"
        return "unknown"

    def forget(self, text: str) -> None:
        """Do nothing: the server has dropped the lock of an owner that has died."""

    def close(self) -> None:
        """End the session, and with it the lock of this process."""
        self._closed.set()
        with self._using:
            session, self._session, self._me = self._session, None, None
            if session is not None:
                session.close()

    def _ask(self, query: str, *values: int) -> tuple[float, ...]:
        """Ask the server one thing, on a new session where the old one was lost. Raises StoreFailed.

        Who asks after the end, such as a write that was queued before it, leaves no session behind.
        """
        with self._using, ExitStack() as at_the_end:
            if self._closed.is_set():
                at_the_end.callback(self.close)
            for again in (True, False):
                try:
                    row = self._opened().execute(query, values or None).fetchone()
                    return tuple(row[place] for place in range(len(row))) if row else ()
                except psycopg.Error as error:
                    lost = self._session is None or self._session.closed
                    if not (lost and again):
                        raise self._engine.failure(errors.as_sqlite(error)) from error
        raise AssertionError("the second time returns or raises")

    def _opened(self) -> Connected:
        """Give the session, with the lock of this process where it can be had. Raises psycopg.Error."""
        if self._session is None or self._session.closed:
            self._session, self._holds = self._engine.connect(), False
        if self._me is not None and not self._holds:  # the server may not have dropped the session before yet
            row = self._session.execute(_TRY, (_number(self._me),)).fetchone()
            self._holds = bool(row and row[0])
        return self._session

    def _watch(self, closed: threading.Event) -> None:
        """Take the lock again as soon as the session is lost."""
        while not closed.is_set():
            session = self._session
            try:
                if session is not None and not session.closed and self._holds:
                    readable, _, _ = select.select([session.fileno()], [], [], WATCH_S)
                    if not readable:
                        continue
                with self._using:
                    if not closed.is_set():
                        self._ask("SELECT 1.0::float8")
                closed.wait(0 if self._holds else RETRY_S)
            except (
                StoreFailed,
                OSError,
                ValueError,
                psycopg.Error,
            ):  # closed, or no server
                closed.wait(RETRY_S)


def _number(owner: Owner) -> int:
    """Number the lock of an owner."""
    return int(owner.nonce[:15], 16)
