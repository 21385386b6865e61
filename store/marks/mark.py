"""Whether a store has gone back: what it has on record, compared with a mark that lies outside of it.

The mark is raised after the commit of an intent, and before anybody hears of that. So whatever was sent is in
the mark; a process that dies between the two leaves a store that is ahead of it, which is no alarm.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from planwright.domain.chain import CREATE_CHAIN
from planwright.domain.clock import utc_now
from planwright.domain.errors import GateError, RunError, StoreFailed
from planwright.store.marks.mark_file import SLOTS, BegunEffect, Head, MarkFile
from planwright.store.marks.setback import Setback, accept, notice, setbacks
from planwright.store.store_errors import store_error

NAME, SHOWN_THREAD = "begun", 100
_SINCE = f"""SELECT a.n, a.hash, a.kind, a.content, e.rowid AS place, e.key, e.first_key, e.run_id,
    e.thread_id, e.step_uid, e.attempt, e.ordinal, e.capability, e.effect, e.args_hash, e.unasked,
    e.intended_at FROM audit a LEFT JOIN effects e ON a.kind = 'effect' AND e.key = a.subject
    WHERE a.n >= :n AND (a.n = :n OR a.kind = 'setback'
    OR (e.capability <> '{CREATE_CHAIN}' AND json_extract(a.content, '$.status') = 'intent')) ORDER BY a.n"""
_FRESH = f"SELECT coalesce(max(n), 0) - {4 * SLOTS} FROM audit"
_BETWEEN = "SELECT hash FROM audit WHERE n BETWEEN ? AND ?"


@dataclass(frozen=True)
class Comparison:
    """How a store and its mark stand to each other."""

    setback: Setback | None = None
    """What the store lacks; None where it lacks nothing."""
    head: Head | None = None
    """Where the mark belongs; None where nothing was begun yet."""
    newer: tuple[BegunEffect, ...] = ()
    """Effects that the store has, and the mark has not."""
    instead_of: Head | None = None
    """Where the mark stands, and a person has said that the store goes on without; else None."""


class Mark:
    """The mark of one store, in a folder beside it.

    `store_id` tells apart the stores that the folder may have marks of; "" for the one beside it.
    """

    def __init__(self, folder: Path, store_id: Callable[[sqlite3.Connection], str] = lambda _: "") -> None:
        self._folder = folder.absolute()
        self._store_id = store_id
        self._file: MarkFile | None = None
        self._compared = False
        self._setback: Setback | None = None

    @property
    def is_compared(self) -> bool:
        """Whether the store was compared, and lacks nothing."""
        return self._compared and self._setback is None

    def setback(self, connection: sqlite3.Connection) -> Setback | None:
        """Say what the store lacks, in a transaction: by the first look, and another one while it lacks any.

        Raises sqlite3.Error, StoreFailed for a mark that cannot be read.
        """
        if not self._compared or self._setback is not None:
            compared = self.compare(connection)
            if compared.setback is not None:
                notice(connection, compared.setback, utc_now())
            elif compared.newer or compared.instead_of:
                with contextlib.suppress(StoreFailed):  # what begins an effect will meet it
                    self.write(compared)
            self._compared, self._setback = True, compared.setback
        return self._setback

    def look_again(self) -> None:
        """Compare once more: the store was opened anew."""
        self._compared = False

    def accept(self, connection: sqlite3.Connection, id_: str, by: str) -> tuple[Setback, list[BegunEffect]]:
        """Let a store go on without what it lacks, in a transaction; return that, and what is in doubt now.

        Raises RunError where it lacks nothing, GateError for another id, and what `setback` does.
        """
        setback = self.compare(connection).setback
        if setback is None:
            raise RunError("the store lacks nothing that was begun", "begin a run: planwright run")
        if setback.id != id_:
            cause = f"what the store lacks is not {id_}: it may be more by now"
            raise GateError(cause, "look at it again: planwright db accept")
        return setback, accept(connection, setback, by, utc_now())

    def advance(self, connection: sqlite3.Connection) -> Comparison:
        """Read what was begun since the mark, before it is committed.

        Raises StoreWentBack, and what `setback` does.
        """
        compared = self.compare(connection)
        self._setback = compared.setback
        if compared.setback is not None:
            raise compared.setback.error()
        return compared

    def write(self, compared: Comparison) -> None:
        """Raise the mark to where it belongs; return when the disk has it. Raises StoreFailed."""
        if self._file is None or compared.head is None:
            return
        try:
            self._file.write(compared.head, compared.newer, compared.instead_of)
        except OSError as error:
            raise store_error(self._file.path, error) from error

    def compare(self, connection: sqlite3.Connection) -> Comparison:
        """Compare, and write nothing. The mark is read first: whatever it has was committed before.

        Raises sqlite3.Error, StoreFailed for a mark that cannot be read.
        """
        if self._file is None:
            id_ = self._store_id(connection)
            self._file = MarkFile(self._folder / (f"{NAME}-{id_}" if id_ else NAME))
        try:
            head = self._file.head()
            return _since(connection, head) or _without(connection, self._file, head)
        except OSError as error:
            raise store_error(self._file.path, error) from error


def _since(
    connection: sqlite3.Connection, head: Head | None, instead_of: Head | None = None
) -> Comparison | None:
    """Read what a store has since an entry; None where it lacks that entry."""
    first = connection.execute(_FRESH).fetchone()[0] if head is None else head.n
    newer: deque[BegunEffect] = deque(maxlen=SLOTS)
    open_: dict[str, Setback] = {}
    on_record = head is None
    for row in connection.execute(_SINCE, {"n": first}):
        if head is not None and row["n"] == head.n:
            on_record = row["hash"] == head.hash
        elif row["kind"] == "setback":
            entry = Setback.model_validate_json(row["content"])
            open_ = {hash_: other for hash_, other in open_.items() if hash_ not in entry.covered}
            open_ |= {} if entry.by else {entry.hash: entry}
        elif row["key"] is not None:
            newer.append(_effect(row))
    if not on_record:
        return None
    if open_:
        return Comparison(setback=next(iter(open_.values())))
    return Comparison(None, newer[-1].head if newer else head, tuple(newer), instead_of)


def _without(connection: sqlite3.Connection, file: MarkFile, head: Head | None) -> Comparison:
    """Compare a store that lacks what the mark names: a person may have said that it goes on without."""
    if head is None:
        return Comparison()
    accepted = [(at, entry) for at, entry in setbacks(connection) if entry.by]
    for at, entry in reversed(accepted):
        if head.hash in entry.covered:
            return _since(connection, at, instead_of=head) or Comparison()
    effects, covered = file.effects(), {hash_ for _, entry in accepted for hash_ in entry.covered}
    ends = (effects[0].n, effects[-1].n) if effects else (0, 0)
    covered |= {row[0] for row in connection.execute(_BETWEEN, ends)}
    lacking = tuple(effect for effect in effects if effect.hash not in covered)
    more = len(effects) == SLOTS and lacking[:1] == tuple(effects[:1])
    return Comparison(Setback(hash=head.hash, effects=lacking, more=more))


def _effect(row: sqlite3.Row) -> BegunEffect:
    values = {name: row[name] for name in BegunEffect.model_fields}
    return BegunEffect.model_validate({**values, "thread_id": row["thread_id"][:SHOWN_THREAD]})
