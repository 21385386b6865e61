"""What can be undone of a run, and what has been: effects on record, and the runs that undo them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from planwright.domain.errors import RunError
from planwright.domain.hashing import sha256
from planwright.domain.verified_step import VerifiedStep
from planwright.records.effects.undone import UNANSWERED, Undone, endings, recorded_steps, undone_effects
from planwright.records.forks import Fork, being_undone, open_undo, write_fork
from planwright.records.runs import Run, begin_run
from planwright.store.database import Database
from planwright.store.owners import sender_of


@dataclass(frozen=True)
class PastEffect:
    """An effect that has happened, or may have (`certain` is false, and nobody knows its result).

    `step` is the step or call that had it, where that is known; `planned` when it is a step of a plan.
    `undone` says what the run `undone_by` made of undoing it.
    """

    key: str
    """Idempotency key of the effect."""
    capability: str
    """Name of the capability that had it."""
    args: dict[str, JsonValue]
    """Arguments of the call, as recorded."""
    certain: bool
    """Whether it surely happened."""
    result: JsonValue
    """What the call returned; None where nobody knows."""
    began: str
    """When its intent was written down, in ISO 8601."""
    ended: str
    """When it ended, in ISO 8601; when it began where it has no end."""
    step: VerifiedStep | None
    """Step or call that had it; None where that is not on record."""
    planned: bool
    """Whether that is a step of a plan."""
    undone: Undone = ""
    """What became of undoing it; "" where nobody tried."""
    undone_by: str = ""
    """Id of the run that undid it; "" for none."""
    still_sent_by: str = ""
    """Process that lives and may be sending it now, as people read it; "" for none."""


class Undos:
    """The table of compensations: which step of which run undoes which effect of another."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def effects_of(self, run_id: str) -> list[PastEffect]:
        """List the effects of a run that have happened or may have, in the order they began."""
        return await self._database.read(lambda c: _effects(c, run_id))

    async def steps_of(self, run_id: str) -> list[VerifiedStep]:
        """List the verified steps of all plans of a run, without the calls of agents and chains."""

        def job(connection: sqlite3.Connection) -> list[VerifiedStep]:
            return [step for step, kind in recorded_steps(connection, run_id).values() if kind == "plan"]

        return await self._database.read(job)

    async def calls_of(self, run_id: str) -> dict[str, tuple[VerifiedStep, str]]:
        """Map the uids of all verified steps and calls of a run to them, each with the kind of its plan."""
        return await self._database.read(lambda c: recorded_steps(c, run_id))

    async def key_of(self, run_id: str, step_id: str) -> str | None:
        """Make the key that a step sends to undo its effect; None when it undoes none.

        It is the same in every undoing of that effect, as one that was not answered may have happened, and
        another after every undoing that was refused.
        """

        def job(connection: sqlite3.Connection) -> str | None:
            key_query = "SELECT effect_key FROM compensations WHERE run_id = ? AND step_id = ?"
            row = connection.execute(key_query, (run_id, step_id)).fetchone()
            if row is None:
                return None
            query = "SELECT run_id, step_id FROM compensations WHERE effect_key = ?"
            tried = connection.execute(query, (row[0],)).fetchall()
            refused = sum("failed" in endings(connection, run)[step] for run, step in tried)
            return sha256(["undo", row[0], refused])

        return await self._database.read(job, behind=())

    async def begin(self, run: Run, fork: Fork, undoes: Mapping[str, str], at: datetime) -> None:
        """Write a run down that undoes effects of another, by key, each in a step, in one transaction.

        Raises RunError when another does so now, or has done meanwhile, or a fork goes on with its results,
        and where one of them may still be sent: it would happen after it was undone.
        """

        def job(connection: sqlite3.Connection) -> None:
            if by := open_undo(connection, fork.source_run):
                raise being_undone(fork.source_run, *by)
            _check_built_on(connection, fork.source_run)
            undone = undone_effects(connection, fork.source_run)
            if undoes.keys() & undone.keys():
                raise RunError(f"some of run {fork.source_run} was undone meanwhile", "look, and try again")
            sent = {effect.key for effect in _effects(connection, fork.source_run) if effect.still_sent_by}
            if undoes.keys() & sent:
                cause = f"some of run {fork.source_run} may still be sent"
                raise RunError(cause, "wait for its end, and try again")
            begin_run(connection, run)
            write_fork(connection, run, fork, at)
            connection.executemany(
                "INSERT INTO compensations (run_id, tenant, source_run, effect_key, step_id)"
                " VALUES (?,?,?,?,?)",
                [(run.run_id, run.tenant, fork.source_run, key, step) for key, step in undoes.items()],
            )

        await self._database.run("undo", job, synced=True)


def _check_built_on(connection: sqlite3.Connection, run_id: str) -> None:
    """Raise RunError while a fork that has not ended keeps results of a run: it takes them for done."""
    query = (
        "SELECT r.run_id, r.thread_id FROM runs r CROSS JOIN forks f CROSS JOIN steps s"
        " WHERE f.run_id = r.run_id AND s.run_id = r.run_id AND r.ended_at IS NULL"
        " AND json_extract(s.result, '$.kept_from') = ?"
    )
    if row := connection.execute(query, (run_id,)).fetchone():
        cause = f"run {row[0]} is a fork that goes on with what {run_id} has done, and has not ended"
        raise RunError(cause, f"end it first: planwright cancel {row[1]}")


def _effects(connection: sqlite3.Connection, run_id: str) -> list[PastEffect]:
    steps, undone = recorded_steps(connection, run_id), undone_effects(connection, run_id)
    rows = connection.execute(
        f"SELECT * FROM effects WHERE run_id = ? AND (status != 'failed' OR {UNANSWERED}) ORDER BY rowid",
        (run_id,),
    )
    return [_effect(row, steps, undone, sender_of(connection, row)) for row in rows]


def _effect(
    row: sqlite3.Row,
    steps: Mapping[str, tuple[VerifiedStep, str]],
    undone: Mapping[str, tuple[Undone, str]],
    sender: str,
) -> PastEffect:
    step, kind = steps.get(row["step_uid"], (None, ""))
    how, by = undone.get(row["key"], ("", ""))
    return PastEffect(
        key=row["key"],
        capability=row["capability"],
        args=json.loads(row["args"]),
        certain=row["status"] == "done",
        result=json.loads(row["result"]) if row["result"] else None,
        began=row["intended_at"],
        ended=row["ended_at"] or row["intended_at"],
        step=step,
        planned=kind == "plan",
        undone=how,
        undone_by=by,
        still_sent_by=sender,
    )
