"""Effects in doubt, by the ledger: which there are, and what a person has decided over each.

In doubt is what is marked so, and an intent that nobody will hear of any more.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from planwright.domain.chain import CREATE_CHAIN
from planwright.domain.doubt import (
    CONFIRMED,
    DENIED,
    FIND_OUT,
    SHOWN_KEY,
    Doubt,
    EffectAnswer,
    check_denied,
    every_one,
    how_to_decide,
    nobody_knows,
)
from planwright.domain.errors import CapabilityForbidden, EffectInDoubt, GateError
from planwright.domain.hashing import canonical_json, stored_json
from planwright.domain.results import StepResult
from planwright.records.audit.sealing import seal
from planwright.records.effects.alternatives import step_replaced_by
from planwright.records.effects.undone import recorded_steps
from planwright.store.audit_chain import append_row
from planwright.store.database import Database
from planwright.store.owners import living_sender, sender_of
from planwright.store.sealed_rows import EFFECTS

# An intent counts once its step has ended, because another process may still be sending it. No run ends
# with one. A chain is gone with its run: whether one was made matters to nobody.
DOUBTFUL = f"""e.status IN ('in_doubt', 'intent') AND (e.status = 'in_doubt' OR EXISTS (
        SELECT 1 FROM steps s WHERE s.run_id = e.run_id AND s.uid = e.step_uid
        AND json_extract(s.result, '$.code') = 'in_doubt'))
    AND e.capability != '{CREATE_CHAIN}'"""
"""Says of an effect `e` of a run `r` that it is in doubt, in SQL."""
_OPEN = f"""SELECT e.* FROM effects e JOIN runs r USING (run_id)
    WHERE {DOUBTFUL} AND {{where}} ORDER BY e.rowid"""
_LEFT = """SELECT shown FROM gates
    WHERE run_id = ? AND kind = 'escalation' AND status IN ('rejected', 'expired')"""
_ENDED = "the run ended before anything was heard of it"


class Doubts:
    """The effects that nobody knows about."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_run(self, run_id: str) -> list[Doubt]:
        """List the effects of a run that are in doubt, in the order they began."""
        return await self._database.read(lambda c: doubts_of(c, run_id))

    async def not_left(self, run_id: str) -> list[Doubt]:
        """List those that no person has been asked about in vain: no gate of the run was closed over them."""

        def job(connection: sqlite3.Connection) -> list[Doubt]:
            left = _left(connection, run_id)
            return [doubt for doubt in doubts_of(connection, run_id) if doubt.key not in left]

        return await self._database.read(job)

    async def same_as(
        self, thread_id: str, calls: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], CapabilityForbidden]:
        """Say of calls, each a capability and the hash of its arguments, why they are refused on a thread."""

        def job(connection: sqlite3.Connection) -> dict[tuple[str, str], CapabilityForbidden]:
            refused = ((call, doubt_refusal(connection, thread_id, *call)) for call in calls)
            return {call: error for call, error in refused if error is not None}

        return await self._database.read(job) if calls else {}

    async def decide(
        self, run_id: str, answers: Sequence[EffectAnswer], by: str, at: datetime
    ) -> tuple[EffectAnswer, ...]:
        """Decide over all that a run which has ended left in doubt, or nothing, in one transaction.

        Raises GateError for a run that has not ended, and for answers that do not fit.
        """

        def job(connection: sqlite3.Connection) -> tuple[EffectAnswer, ...]:
            run = connection.execute("SELECT * FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            if run is None or run["ended_at"] is None:
                raise GateError(f"run {run_id} has not ended", f"go on with it: planwright resume {run_id}")
            doubts = doubts_of(connection, run_id)
            if not doubts:
                raise GateError(f"nothing of run {run_id} is in doubt", f"see it: planwright show {run_id}")
            settled = every_one(doubts, answers, how_to_decide(run_id))
            settle_doubts(connection, run_id, settled, by, at)
            seal(connection, run_id, at)
            return settled

        return await self._database.run("decision", job, synced=True)


async def begun_uids(database: Database, run_id: str) -> frozenset[str]:
    """Name the steps and calls of a run whose effect was begun and not heard of.

    A chain that was being made is none of them: it is gone with its run.
    """
    query = "SELECT step_uid FROM effects WHERE run_id = ? AND status IN ('intent', 'in_doubt')"
    query += f" AND capability != '{CREATE_CHAIN}'"
    return await database.read(lambda c: frozenset(row[0] for row in c.execute(query, (run_id,))))


def leave_in_doubt(connection: sqlite3.Connection, run_id: str, at: datetime) -> None:
    """Mark what a run that ends has begun and not heard of; no run ends with an intent.

    What a living process may still be sending has no end yet, and gets it from that process.
    """
    query = "SELECT key, owner FROM effects WHERE run_id = ? AND status = 'intent'"
    for key, owner in connection.execute(query, (run_id,)).fetchall():
        ended = None if living_sender(connection, owner, surely=True) else at.isoformat()
        change = "UPDATE effects SET status='in_doubt', error=?, ended_at=? WHERE key=?"
        connection.execute(change, ("" if ended is None else _ENDED, ended, key))
        append_row(connection, "effect", EFFECTS, key, at)


def doubts_of(connection: sqlite3.Connection, run_id: str) -> list[Doubt]:
    """Read the effects of a run that are in doubt."""
    rows = connection.execute(_OPEN.format(where="e.run_id = ?"), (run_id,)).fetchall()
    steps = recorded_steps(connection, run_id) if rows else {}
    ids = {uid: step.step.id for uid, (step, _) in steps.items()}
    return [_doubt(connection, row, ids.get(row["step_uid"], "")) for row in rows]


def doubt_question(thread_id: str, capability: str, args_hash: str) -> tuple[str, tuple[str, ...]]:
    """Ask for a call that is in doubt on a thread."""
    where = "e.thread_id = ? AND e.capability = ? AND e.args_hash = ?"
    return _OPEN.format(where=where), (thread_id, capability, args_hash)


def doubt_refusal(
    connection: sqlite3.Connection, thread_id: str, capability: str, args_hash: str
) -> CapabilityForbidden | None:
    """Say why a call may not be made: the same one is in doubt on its thread. None where none is."""
    row = connection.execute(*doubt_question(thread_id, capability, args_hash)).fetchone()
    if row is None:
        return None
    key, run_id = row["key"][:SHOWN_KEY], row["run_id"]
    cause = f"nobody knows whether {capability} has happened already (run {run_id}, key {key})"
    return CapabilityForbidden(cause, how_to_decide(run_id))


def settle_doubts(
    connection: sqlite3.Connection, run_id: str, answers: Iterable[EffectAnswer], by: str, at: datetime
) -> None:
    """Write down what a person says of effects, in the ledger and in the steps that had them.

    Raises GateError where something else was recorded meanwhile, or an effect may happen yet.
    """
    open_ = []
    for answer in answers:
        row = connection.execute("SELECT * FROM effects WHERE key = ?", (answer.key,)).fetchone()
        if row is None or row["run_id"] != run_id:
            raise GateError(f"run {run_id} has no effect {answer.key[:SHOWN_KEY]}", "look at it again")
        if row["status"] in ("in_doubt", "intent"):
            open_.append((row, answer))
        elif answer.happened != (row["status"] == "done"):
            cause = f"effect {answer.key[:SHOWN_KEY]} was recorded as {row['status']} meanwhile"
            raise GateError(cause, f"look at it: planwright show {run_id}")
    check_denied(_doubt(connection, row, "") for row, answer in open_ if not answer.happened)
    for row, answer in open_:
        _settle_effect(connection, row, answer, by, at)
        _settle_step(connection, row, answer, by, at)


def _settle_effect(
    connection: sqlite3.Connection, row: sqlite3.Row, answer: EffectAnswer, by: str, at: datetime
) -> None:
    happened = ("done", canonical_json(answer.result), f"confirmed by {by}", "")
    denied = ("failed", None, f"it did not happen, says {by}", DENIED)
    connection.execute(
        "UPDATE effects SET status=?, result=?, error=?, code=?, ended_at=? WHERE key=?",
        (*(happened if answer.happened else denied), at.isoformat(), row["key"]),
    )
    append_row(connection, "effect", EFFECTS, row["key"], at)


def _settle_step(
    connection: sqlite3.Connection, row: sqlite3.Row, answer: EffectAnswer, by: str, at: datetime
) -> None:
    """Change how the step ended that had the effect, or in whose place an alternative had it."""
    run_id, uids = row["run_id"], [row["step_uid"]]
    if replaced := step_replaced_by(connection, run_id, row["step_uid"]):
        uids.append(replaced)
    for uid in uids:
        query = "SELECT result FROM steps WHERE run_id = ? AND uid = ?"
        stored = connection.execute(query, (run_id, uid)).fetchone()
        result = StepResult.model_validate_json(stored[0]) if stored else None
        if result is None or result.code != EffectInDoubt.code:
            continue
        decided = _decided(result, row["capability"], answer, by)
        connection.execute(
            "UPDATE steps SET status=?, result=?, ended_at=? WHERE run_id=? AND uid=?",
            (decided.status, stored_json(decided), at.isoformat(), run_id, uid),
        )


def _decided(result: StepResult, capability: str, answer: EffectAnswer, by: str) -> StepResult:
    if not answer.happened:
        why = {"status": "failed", "code": DENIED, "error": f"{capability} did not happen, says {by}"}
        return result.model_copy(update=why)
    instead = {} if result.capability == capability else {"instead_of": result.capability}
    done = {"status": "completed", "code": CONFIRMED, "error": "", "output": answer.result}
    return result.model_copy(update={**done, "capability": capability, **instead})


def _left(connection: sqlite3.Connection, run_id: str) -> Collection[str]:
    """Name the effects, by key, on the cards of gates that a person closed or nobody answered."""
    cards = [json.loads(row[0]) for row in connection.execute(_LEFT, (run_id,))]
    return {effect["key"] for card in cards for effect in card.get("effects", ())}


def _doubt(connection: sqlite3.Connection, row: sqlite3.Row, step_id: str) -> Doubt:
    return doubt_of(dict(row), step_id, sender_of(connection, row))


def doubt_of(row: Mapping[str, str], step_id: str, sender: str = "") -> Doubt:
    """Make a doubt of the row of its effect, of the id of its step, and of who may still be sending it."""
    why, _, find_out = (row["error"] or "").partition("\n")
    left = f"it may still be sent by {sender}" if sender else _ENDED
    return Doubt(
        key=row["key"],
        uid=row["step_uid"],
        step_id=step_id,
        capability=row["capability"],
        args=json.loads(row["args"]),
        sent_at=row["intended_at"],
        why=why.removeprefix(nobody_knows(row["capability"])) or left,
        find_out=find_out or FIND_OUT,
        still_sent_by=sender,
    )
