"""What can be undone of a run, and what has been: effects on record, and the runs that undo them."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from planwright.checkpoints.database import Database
from planwright.checkpoints.forks import Fork, write_fork
from planwright.checkpoints.runs import Run, begin_run
from planwright.graph.canonical import sha256
from planwright.graph.errors import RunError
from planwright.graph.plan import CheckedStep

Undone = Literal["", "done", "in_doubt"]
_UNANSWERED = "status = 'failed' AND effect = 'idempotent' AND code = 'unavailable'"


@dataclass(frozen=True)
class PastEffect:
    """An effect that has happened, or may have (`certain` is false, and nobody knows its result).

    `step` is the step or call that had it, where that is known; `planned` when it is a step of a plan.
    `undone` says what the run `undone_by` made of undoing it.
    """

    key: str
    capability: str
    args: dict[str, JsonValue]
    certain: bool
    result: JsonValue
    began: str
    ended: str
    step: CheckedStep | None
    planned: bool
    undone: Undone = ""
    undone_by: str = ""


class Undos:
    """The table of compensations: which step of which run undoes which effect of another."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def effects_of(self, run_id: str) -> list[PastEffect]:
        """List the effects of a run that have happened or may have, in the order they began."""
        return await self._database.run("read", lambda c: _effects(c, run_id))

    async def steps_of(self, run_id: str) -> list[CheckedStep]:
        """List the verified steps of all plans of a run, without the calls of agents and chains."""

        def job(connection: sqlite3.Connection) -> list[CheckedStep]:
            return [step for step, kind in _steps(connection, run_id).values() if kind == "plan"]

        return await self._database.run("read", job)

    async def key_of(self, run_id: str, step_id: str) -> str | None:
        """Make the key that a step sends to undo its effect; None when it undoes none.

        It is the same in every undoing of that effect, as one that was not answered may have happened
        (SPEC §9), and another after every undoing that was refused.
        """

        def job(connection: sqlite3.Connection) -> str | None:
            asked = "SELECT effect_key FROM compensations WHERE run_id = ? AND step_id = ?"
            row = connection.execute(asked, (run_id, step_id)).fetchone()
            if row is None:
                return None
            query = "SELECT run_id, step_id FROM compensations WHERE effect_key = ?"
            tried = connection.execute(query, (row[0],)).fetchall()
            refused = sum("failed" in _endings(connection, run)[step] for run, step in tried)
            return sha256(["undo", row[0], refused])

        return await self._database.run("read", job)

    async def begin(self, run: Run, fork: Fork, undoes: Mapping[str, str], at: datetime) -> None:
        """Write a run down that undoes effects of another, by key, each in a step, in one transaction.

        Raises RunError when another does so now, or has done meanwhile.
        """

        def job(connection: sqlite3.Connection) -> None:
            query = (
                "SELECT r.run_id, r.thread_id FROM runs r JOIN forks f USING (run_id)"
                " WHERE f.source_run = ? AND f.undo AND r.ended_at IS NULL"
            )
            if other := connection.execute(query, (fork.source_run,)).fetchone():
                cause = f"run {other[0]} is undoing {fork.source_run}, and has not ended"
                raise RunError(cause, f"go on with it: planwright resume {other[1]}")
            undone = _undone(connection, fork.source_run)
            if undoes.keys() & undone.keys():
                raise RunError(f"some of run {fork.source_run} was undone meanwhile", "look, and try again")
            begin_run(connection, run)
            write_fork(connection, run, fork, at)
            connection.executemany(
                "INSERT INTO compensations (run_id, tenant, source_run, effect_key, step_id)"
                " VALUES (?,?,?,?,?)",
                [(run.run_id, run.tenant, fork.source_run, key, step) for key, step in undoes.items()],
            )

        await self._database.run("undo", job)


def _effects(connection: sqlite3.Connection, run_id: str) -> list[PastEffect]:
    steps, undone = _steps(connection, run_id), _undone(connection, run_id)
    rows = connection.execute(
        f"SELECT * FROM effects WHERE run_id = ? AND (status != 'failed' OR {_UNANSWERED})"
        " ORDER BY intended_at, rowid",
        (run_id,),
    )
    return [_effect(row, steps, undone) for row in rows]


def _effect(
    row: sqlite3.Row,
    steps: Mapping[str, tuple[CheckedStep, str]],
    undone: Mapping[str, tuple[Undone, str]],
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
    )


def _steps(connection: sqlite3.Connection, run_id: str) -> dict[str, tuple[CheckedStep, str]]:
    """Map the uids of all steps and calls of a run to what was verified, and to the kind of their plan."""
    query = "SELECT checked, kind FROM plans WHERE run_id = ? ORDER BY created_at, rowid"
    rows = connection.execute(query, (run_id,)).fetchall()
    checked = ((CheckedStep.model_validate(entry), row[1]) for row in rows for entry in json.loads(row[0]))
    return {step.uid: (step, kind) for step, kind in checked}


def _undone(connection: sqlite3.Connection, source_run: str) -> dict[str, tuple[Undone, str]]:
    """Map the keys of effects that were undone, or may have been, to how that ended and in which run."""
    query = "SELECT run_id, effect_key, step_id FROM compensations WHERE source_run = ? ORDER BY rowid"
    by_run: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for run_id, key, step_id in connection.execute(query, (source_run,)).fetchall():
        by_run[run_id].append((key, step_id))
    found: dict[str, tuple[Undone, str]] = {}
    for run_id, pairs in by_run.items():
        told = _endings(connection, run_id)
        for key, step_id in pairs:
            if (how := _how(told[step_id])) and found.get(key, ("", ""))[0] != "done":
                found[key] = how, run_id
    return found


def _endings(connection: sqlite3.Connection, run_id: str) -> defaultdict[str, set[str]]:
    """Gather by step id how the effects and steps of a run ended, over all its attempts."""
    ids = {uid: step.step.id for uid, (step, _) in _steps(connection, run_id).items()}
    told: defaultdict[str, set[str]] = defaultdict(set)
    status = f"CASE WHEN {_UNANSWERED} THEN 'unanswered' ELSE status END"
    effects = f"SELECT step_uid, {status} FROM effects WHERE run_id = ?"
    for uid, status in connection.execute(effects, (run_id,)):
        told[ids.get(uid, "")].add(status)
    settled = "SELECT step_id, status FROM steps WHERE run_id = ?"
    for step_id, status in connection.execute(settled, (run_id,)):
        told[step_id].add("done" if status == "completed" else "")
    return told


def _how(endings: Collection[str]) -> Undone:
    if "done" in endings:
        return "done"
    return "in_doubt" if {"in_doubt", "intent"} & set(endings) else ""
