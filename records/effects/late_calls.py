"""Calls of this process that have not ended: awaited ones, and those left running, which nothing can stop.

While one runs its effect stays an intent of a process that lives, so nobody can say that it has not happened.
When it ends it is in doubt, or can be looked up: what it brought, nobody waited for. Where the store was
closed meanwhile, its process owns nothing of it once its last call has ended: whoever comes next decides.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from planwright.domain.errors import LeaseLost, StoreFailed
from planwright.records.audit.sealing import latest_seal, seal
from planwright.records.effects.ledger import EffectCall, Recorded
from planwright.store.audit_chain import append_row
from planwright.store.database import Database
from planwright.store.sealed_rows import EFFECTS

_IN_DOUBT = """SELECT 1 FROM steps WHERE run_id = ? AND uid = ?
    AND json_extract(result, '$.code') = 'in_doubt'"""
ENDED = "nobody waited for its answer any more, and it has ended since"
UNRECORDED = "the store failed when it was to be recorded, and it has ended since"


class LateCalls:
    """The calls of this process that have not ended."""

    def __init__(self, database: Database, let_go: Callable[[], None]) -> None:
        self._database = database
        self._let_go = let_go
        self._running: set[str] = set()
        self._awaited: dict[object, str] = {}  # keys: of a run that was lost and is here again, one twice

    @contextmanager
    def awaited(self, call: EffectCall, now: Callable[[], datetime]) -> Iterator[None]:
        """Own a call, from before its intent until it has ended, also where the store is closed meanwhile.

        Where its run was lost to another process meanwhile, or the store failed, nobody here goes on with it:
        it is in doubt then, or can be looked up, unless it is left running.
        """
        me = object()
        self._awaited[me] = call.key
        try:
            yield
        except (LeaseLost, StoreFailed) as error:
            if not self.has(call) and list(self._awaited.values()).count(call.key) == 1:
                self._ended(call, now, UNRECORDED if isinstance(error, StoreFailed) else ENDED)
            raise
        finally:
            del self._awaited[me]
            if not self._database.is_open and not self.are_running:
                self._let_go()

    def watch(self, call: EffectCall, end: Future[None], now: Callable[[], datetime]) -> None:
        """Wait for the end of a call in a thread of its own, and write down then that it is in doubt."""
        self._running.add(call.key)
        end.add_done_callback(lambda _: self._ended(call, now))

    def has(self, call: EffectCall) -> bool:
        """Say whether a call still runs here."""
        return call.key in self._running

    def marked(self, call: EffectCall, known: Recorded) -> Recorded:
        """Name this process as the sender of a call that still runs here."""
        return replace(known, sender="this process") if self.has(call) else known

    @property
    def are_running(self) -> bool:
        """Whether a call has not ended: then this process owns its effect, also once the store is closed."""
        return bool(self._running or self._awaited)

    def _ended(self, call: EffectCall, now: Callable[[], datetime], why: str = ENDED) -> None:
        self._running.discard(call.key)
        if self._database.is_open:  # it rides: a commit that fails is tried again
            self._database.submit("late_end", lambda c: _let_go_of(c, call, now(), why), rides=True)
        elif not self.are_running:
            self._let_go()


def _let_go_of(connection: sqlite3.Connection, call: EffectCall, at: datetime, why: str) -> None:
    """Mark an effect that nobody has decided over meanwhile; no lease is needed for what was sent here.

    What can be looked up, or sent again, belongs to nobody from now on, and whoever goes on with the run does
    so. In doubt is what cannot, and what a person is asked about already.
    """
    at_work = (call.key, call.lease.owner)
    in_doubt = connection.execute(_IN_DOUBT, (call.lease.run_id, call.step_uid)).fetchone()
    if call.effect != "blind" and in_doubt is None:
        query = "UPDATE effects SET owner=NULL WHERE key=? AND status='intent' AND owner=?"
        connection.execute(query, at_work)
        return
    marked = connection.execute(
        "UPDATE effects SET status='in_doubt', error=?, ended_at=?"
        " WHERE key=? AND status IN ('intent', 'in_doubt') AND ended_at IS NULL AND owner=?",
        (why, at.isoformat(), *at_work),
    )
    if marked.rowcount:
        append_row(connection, "effect", EFFECTS, call.key, at)
        if latest_seal(connection, call.lease.run_id) is not None:
            seal(connection, call.lease.run_id, at)
