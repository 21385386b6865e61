"""What the runs that a fork comes from have done: it is not done again unless a person says so."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from planwright.domain.verified_step import VerifiedStep
from planwright.records.effects.undone import UNANSWERED, recorded_steps

_LIKE_IT = f"""SELECT step_uid, args_hash, status FROM effects WHERE run_id = ? AND capability = ?
    AND (status IN ('done', 'in_doubt', 'intent') OR {UNANSWERED}) ORDER BY args_hash = ? DESC, rowid"""


@dataclass(frozen=True)
class EarlierEffect:
    """An effect of an earlier run, with the `same` arguments or others; `certain` when it surely happened."""

    run_id: str
    """Id of the run that had the effect."""
    capability: str
    """Name of the capability that had it."""
    same: bool
    """Whether its arguments were the same."""
    certain: bool
    """Whether it surely happened."""

    @property
    def reason(self) -> str:
        """Why a person is asked."""
        if self.same:
            return f"run {self.run_id} {'has' if self.certain else 'may have'} done this already"
        return f"run {self.run_id} has called {self.capability} already"


def done_before(
    connection: sqlite3.Connection, run_id: str, capability: str, args_hash: str
) -> EarlierEffect | None:
    """Find an effect of the same capability in the runs that a fork comes from, nearest and likest first.

    What belongs to a step that the fork was told to do again does not count: a person has named it.
    """
    named, like = _named(connection, run_id), None
    for source in _sources(connection, run_id):
        steps = recorded_steps(connection, source) if named else {}
        for uid, hash_, status in connection.execute(_LIKE_IT, (source, capability, args_hash)):
            if named and _step_of(uid, steps) in named:
                continue
            effect = EarlierEffect(source, capability, hash_ == args_hash, status == "done")
            if effect.same:
                return effect
            like = like or effect
    return like


def _sources(connection: sqlite3.Connection, run_id: str) -> list[str]:
    """List the runs that a run was forked from, the newest first; on their own thread, those since, too."""
    query = """WITH RECURSIVE sources(run_id) AS (SELECT run_id FROM runs WHERE run_id = :run UNION
        SELECT past.run_id FROM sources JOIN forks f ON f.run_id = sources.run_id AND f.undo = 0
        JOIN runs s ON s.run_id = f.source_run JOIN runs r ON r.run_id = f.run_id
        JOIN runs past ON past.run_id = s.run_id OR (s.thread_id = r.thread_id
            AND past.thread_id = r.thread_id AND past.rowid BETWEEN s.rowid AND r.rowid))
        SELECT runs.run_id FROM sources JOIN runs USING (run_id) WHERE run_id <> :run
        ORDER BY runs.rowid DESC"""
    return [row[0] for row in connection.execute(query, {"run": run_id})]


def _named(connection: sqlite3.Connection, run_id: str) -> frozenset[str]:
    """Read the ids of the steps that a fork does again."""
    row = connection.execute("SELECT again FROM forks WHERE run_id = ?", (run_id,)).fetchone()
    return frozenset(json.loads(row[0])) if row else frozenset()


def _step_of(uid: str, steps: dict[str, tuple[VerifiedStep, str]]) -> str:
    """Name the step of the plan that made a call; a call is named by its lane: `<uid>.<turn>.<position>`."""
    while (match := steps.get(uid)) and match[1] == "calls":
        uid = match[0].step.id.split(".")[0]
    return match[0].step.id if match else ""
