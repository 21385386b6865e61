"""What a store lacks of what was begun in it, and who has said that it goes on without."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from planwright.domain.errors import StoreWentBack
from planwright.store.audit_chain import append, append_row
from planwright.store.marks.mark_file import BegunEffect, Head
from planwright.store.sealed_rows import EFFECTS

SHOWN_ID, SHOWN_KEY, MOST_NAMES = 8, 12, 3
UNKNOWN_ARGS = '{"arguments": "[REDACTED gone-with-the-store]"}'
"""Arguments of an effect that the store lacked, where only their hash is known."""
_LACKED = "it was begun, and the store went back to before that"
_ENTRIES = "SELECT n, hash, content FROM audit WHERE kind = 'setback' ORDER BY n"


class Setback(BaseModel):
    """Effects that a store lacks, though a mark outside of it has them."""

    model_config = ConfigDict(frozen=True)
    hash: str
    """Hash of the newest entry that the mark has, and the store lacks."""
    effects: tuple[BegunEffect, ...]
    """The effects that it lacks, as far as the mark has details, in the order they were begun."""
    more: bool = False
    """Whether there may be others, older than all that the mark has details of."""
    by: str = ""
    """Who said go; "" while nobody has."""

    @property
    def id(self) -> str:
        """What a person says to mean this one and no later."""
        return self.hash[:SHOWN_ID]

    @property
    def covered(self) -> set[str]:
        """Hashes that a mark may name, and mean this one."""
        return {self.hash, *(effect.hash for effect in self.effects)}

    @property
    def count(self) -> str:
        """Say in words how many effects are lacking."""
        number = len({effect.key for effect in self.effects})
        if number == 1 and not self.more:
            return "1 effect that was begun"
        count = f"{'at least ' * self.more}{number:,} " if number else ""
        return f"{count}effects that were begun"

    def error(self) -> StoreWentBack:
        """Say what is lacking, and what to do."""
        newest = [named(effect) for effect in self.effects[-1 : -1 - MOST_NAMES : -1]]
        left = ["others"] * (len(self.effects) > MOST_NAMES)
        which = f": {'; '.join([*newest, *left])}" if newest else ""
        step = "see what it lacks, and how to go on: planwright db accept"
        return StoreWentBack(f"the store lacks {self.count}{which}", step)


def named(effect: BegunEffect) -> str:
    """Name an effect in words."""
    when = effect.intended_at[:19].replace("T", " ")
    key = effect.sent_key[:SHOWN_KEY]
    return f"{effect.capability} on thread {effect.thread_id}, begun {when} UTC (key {key})"


def setbacks(connection: sqlite3.Connection) -> list[tuple[Head, Setback]]:
    """Read what the audit chain has of setbacks, oldest first, with the entry of each."""
    rows = connection.execute(_ENTRIES).fetchall()
    return [(Head(row[0], row[1]), Setback.model_validate_json(row[2])) for row in rows]


def notice(connection: sqlite3.Connection, setback: Setback, at: datetime) -> None:
    """Put on record that effects are lacking, once, so that processes on other machines hear of it."""
    if all(entry.hash != setback.hash for _, entry in setbacks(connection)):
        _append(connection, setback, at)


def accept(connection: sqlite3.Connection, setback: Setback, by: str, at: datetime) -> list[BegunEffect]:
    """Put on record that a person goes on without these effects; each is in doubt from now on.

    Those of runs that are not on record, or have ended, are not: nothing goes on with them. Returns the
    effects that are.
    """
    _append(connection, setback.model_copy(update={"by": by}), at)
    return [effect for effect in setback.effects if _put_in_doubt(connection, effect, at)]


def record_arguments(connection: sqlite3.Connection, key: str, args: str, at: datetime) -> None:
    """Write down the arguments of an effect that the store lacked, once the same call is to be made again."""
    connection.execute("UPDATE effects SET args = ? WHERE key = ?", (args, key))
    append_row(connection, "effect", EFFECTS, key, at)


def _append(connection: sqlite3.Connection, setback: Setback, at: datetime) -> None:
    content = setback.model_dump(mode="json")
    append(connection, "setback", ("", ""), setback.id, content, at)


def _put_in_doubt(connection: sqlite3.Connection, effect: BegunEffect, at: datetime) -> bool:
    """Write down an effect of a run that is open; the same call is refused until a person has decided."""
    run = connection.execute(
        "SELECT tenant, thread_id FROM runs WHERE run_id = ? AND ended_at IS NULL", (effect.run_id,)
    ).fetchone()
    known = connection.execute("SELECT 1 FROM effects WHERE key = ?", (effect.key,)).fetchone()
    if run is None or known is not None:
        return False
    connection.execute(
        "INSERT INTO effects (key, tenant, thread_id, run_id, step_uid, attempt, ordinal, capability, effect,"
        " args_hash, args, status, error, intended_at, ended_at, unasked, first_key)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,'in_doubt',?,?,?,?,?)",
        (effect.key, run["tenant"], run["thread_id"], effect.run_id, effect.step_uid, effect.attempt)
        + (effect.ordinal, effect.capability, effect.effect, effect.args_hash, UNKNOWN_ARGS, _LACKED)
        + (effect.intended_at, at.isoformat(), effect.unasked, effect.first_key),
    )
    append_row(connection, "effect", EFFECTS, effect.key, at)
    return True
