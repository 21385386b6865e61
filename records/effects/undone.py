"""What was undone of a run: which effects and steps, and how that ended by the record of who undid them."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection
from typing import Literal

from planwright.domain.verified_step import VerifiedStep

Undone = Literal["", "done", "in_doubt"]
UNANSWERED = "status = 'failed' AND effect = 'idempotent' AND code = 'unavailable'"
CALLS = ""  # stands for the calls of agents and chains: no record says which step made them


def undone_steps(connection: sqlite3.Connection, run_id: str) -> set[str]:
    """Name the steps of a run with an effect that was undone, or may have been, by id."""
    if not (undone := undone_effects(connection, run_id)):
        return set()
    steps = recorded_steps(connection, run_id)
    effects = connection.execute("SELECT key, step_uid FROM effects WHERE run_id = ?", (run_id,))
    steps_undone = (steps.get(uid) for key, uid in effects if key in undone)
    return {
        step[0].step.id if step and step[1] in ("plan", "alternative") else CALLS for step in steps_undone
    }


def recorded_steps(connection: sqlite3.Connection, run_id: str) -> dict[str, tuple[VerifiedStep, str]]:
    """Map the uids of all steps and calls of a run to what was verified, and to the kind of their plan."""
    query = "SELECT checked, kind FROM plans WHERE run_id = ? ORDER BY rowid"
    rows = connection.execute(query, (run_id,)).fetchall()
    checked = ((VerifiedStep.model_validate(entry), row[1]) for row in rows for entry in json.loads(row[0]))
    return {step.uid: (step, kind) for step, kind in checked}


def undone_effects(connection: sqlite3.Connection, source_run: str) -> dict[str, tuple[Undone, str]]:
    """Map the keys of effects that were undone, or may have been, to how that ended and in which run."""
    query = "SELECT run_id, effect_key, step_id FROM compensations WHERE source_run = ? ORDER BY rowid"
    by_run: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for run_id, key, step_id in connection.execute(query, (source_run,)).fetchall():
        by_run[run_id].append((key, step_id))
    effects: dict[str, tuple[Undone, str]] = {}
    for run_id, pairs in by_run.items():
        ends = endings(connection, run_id)
        for key, step_id in pairs:
            if (how := _how(ends[step_id])) and effects.get(key, ("", ""))[0] != "done":
                effects[key] = how, run_id
    return effects


def endings(connection: sqlite3.Connection, run_id: str) -> defaultdict[str, set[str]]:
    """Gather by step id how the effects and steps of a run ended, over all its attempts."""
    ids = {uid: step.step.id for uid, (step, _) in recorded_steps(connection, run_id).items()}
    ends: defaultdict[str, set[str]] = defaultdict(set)
    status = f"CASE WHEN {UNANSWERED} THEN 'unanswered' ELSE status END"
    effects = f"SELECT step_uid, {status} FROM effects WHERE run_id = ?"
    for uid, status in connection.execute(effects, (run_id,)):
        ends[ids.get(uid, "")].add(status)
    settled = "SELECT step_id, status FROM steps WHERE run_id = ?"
    for step_id, status in connection.execute(settled, (run_id,)):
        ends[step_id].add("done" if status == "completed" else "")
    return ends


def _how(endings: Collection[str]) -> Undone:
    if "done" in endings:
        return "done"
    return "in_doubt" if {"in_doubt", "intent"} & set(endings) else ""
