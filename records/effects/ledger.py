"""The effect ledger: intent → effect → done, each effect recorded once.

The promise: exactly-once recorded effects; at-most-once execution of blind effects with an
explicit in-doubt state; exactly-once where the receiver honours the key.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Literal

from pydantic import JsonValue

from planwright.domain.errors import CapabilityForbidden, LedgerConflict
from planwright.domain.hashing import canonical_json, sha256, stored_json
from planwright.domain.lease import Lease
from planwright.domain.results import StepResult
from planwright.domain.risk import Effect
from planwright.records.consent.call_question import CallAsks
from planwright.records.effects.doubts import doubt_question, doubt_refusal
from planwright.records.effects.effect_limits import COUNT_EFFECTS, refuse_more_effects
from planwright.records.effects.kept_effects import NEW, Call, Past, claim, done_question, left_of, past_of
from planwright.records.effects.undone import UNANSWERED
from planwright.records.runs import FAMILY
from planwright.settings.agents import RunBudgetSettings
from planwright.store.audit_chain import append_row
from planwright.store.database import Database
from planwright.store.engines.engine import ask_ahead
from planwright.store.fencing import held, of_run, ride
from planwright.store.marks.setback import UNKNOWN_ARGS, record_arguments
from planwright.store.owners import living_sender
from planwright.store.sealed_rows import EFFECTS
from planwright.telemetry.log_records import ids_of

_LOG = logging.getLogger("planwright.checkpoints")
UNLIMITED = RunBudgetSettings()
_OWN_KEY = "SELECT first_key FROM effects WHERE key = ?"
_SENT_BEFORE = f"""SELECT step_uid, coalesce(first_key, key), {UNANSWERED} OR code = '{CallAsks.code}'
    FROM effects WHERE run_id = ? AND capability = ? AND args_hash = ? ORDER BY rowid DESC LIMIT 1"""
_OF_STEP = "SELECT * FROM effects WHERE run_id = ? AND step_uid = ? ORDER BY rowid DESC LIMIT 1"
EffectStatus = Literal["intent", "done", "failed", "in_doubt"]


@dataclass(frozen=True)
class EffectCall:
    """One capability call that changes something, by all that makes it this call and no other."""

    lease: Lease
    """Right to write for the run that the call is made in."""
    step_uid: str
    """Uid of the step or call that has the effect."""
    capability: str
    """Name of the capability that is called."""
    effect: Effect
    """Effect class of the call."""
    args: dict[str, JsonValue]
    """Arguments of the call; the same key with others is a conflict."""
    attempt: int = 1
    """Number of the attempt, part of the key; counted from 1."""
    ordinal: int = 1
    """Number of the effect within its attempt, part of the key; counted from 1."""
    undo_key: str | None = None
    """Key of the undoing of an effect, which the receiver may know from an earlier run; else None."""
    first_key: str | None = None
    """Key under which the same call was sent before and never answered; None for no such call."""
    unasked: bool = False
    """Whether no person decided over it in this run: its risk is low, or a rule allows it."""
    within: str = ""
    """Uid of the step, chain or agent that makes it, to look for it among what is done; "" if on record."""
    recorded_key: str = ""
    """Key of the effect that verification chose to count for it; "" for none."""
    again: bool = False
    """Whether a person has approved that it is done again."""

    @cached_property
    def key(self) -> str:
        """The idempotency key: 64 hex digits, the same after a crash, another per attempt."""
        return sha256(
            [self.lease.tenant, self.lease.thread_id, self.lease.run_id, self.step_uid]
            + [self.attempt, self.ordinal, self.capability]
        )

    @property
    def sent_key(self) -> str:
        """The key that the receiver is given; that of undoing an effect outlasts a run."""
        return self.undo_key or self.first_key or self.key

    @property
    def args_hash(self) -> str:
        """Hash of the arguments; the same key with other arguments is a conflict."""
        return sha256(self.args)

    @property
    def place(self) -> Call:
        """What the call does and where it stands, to find what was done of it."""
        lease, names = self.lease, (self.step_uid, self.capability, self.args_hash, self.key)
        return Call(lease.thread_id, lease.run_id, *names, within=self.within, recorded_key=self.recorded_key)


@dataclass(frozen=True)
class Recorded:
    """What the ledger already knows of a call."""

    status: EffectStatus
    """How the effect stands."""
    fresh: bool
    """Whether it was written down just now."""
    result: JsonValue = None
    """What the call returned; None where it returned nothing or has not ended."""
    error: str = ""
    """Why it failed, in words; "" for a call that did not fail."""
    sender: str = ""
    """Another process that began it and still lives, so that it may be sending it; "" for none."""
    code: str = ""
    """What kind of failure it was; "" for a call that did not fail."""


class Ledger:
    """The tables of effects and of settled steps."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def intend(self, call: EffectCall, at: datetime, limits: RunBudgetSettings = UNLIMITED) -> Recorded:
        """Write down an effect before it happens, or return what is recorded of it.

        Raises LedgerConflict for a key seen with other arguments, CapabilityForbidden where the same call is
        in doubt on its thread, and BudgetExceeded for one effect more than its run may have.
        """
        job = of_run(call.lease, lambda c: _intend(c, call, at, limits))
        return await self._database.run("intent", job, synced=True, begins=True)

    async def keep(self, call: EffectCall) -> Past:
        """Look whether an effect was done under an earlier plan of its run, and let that record count for it.

        What was answered once is answered so again, also after a crash. Nothing is written where nothing of
        the kind was done. Raises LeaseLost.
        """
        place, tenant = call.place, call.lease.tenant
        if (await self._database.read(lambda c: past_of(c, place))) == NEW:
            return NEW
        return await self._database.run("keep", held(call.lease, lambda c: claim(c, place, tenant)))

    async def done_before(self, run_id: str, uids: Collection[str]) -> dict[tuple[str, str], list[str]]:
        """List what a run has done and a new plan with the steps `uids` might do again (see `left_of`)."""
        return await self._database.read(lambda c: left_of(c, run_id, uids))

    async def first_key(self, call: EffectCall, beside: Collection[str]) -> str | None:
        """Find the key under which the same idempotent call of a run was sent before, and never answered.

        It may have arrived, so the receiver has to know it again. Calls of steps `beside` it, in the same
        plan, are other calls. None where there is none, or where the newest was answered.
        """

        def job(connection: sqlite3.Connection) -> str | None:
            values = (call.lease.run_id, call.capability, call.args_hash)
            ask_ahead(connection, (_OWN_KEY, (call.key,)), (_SENT_BEFORE, values))
            own = connection.execute(_OWN_KEY, (call.key,)).fetchone()
            if own is not None:
                return own[0] and str(own[0])
            row = connection.execute(_SENT_BEFORE, values).fetchone()
            return str(row[1]) if row and row[2] and row[0] not in beside else None

        return await self._database.read(job)

    async def of_step(self, run_id: str, uid: str) -> Recorded | None:
        """Read the effect of a step as it was recorded; None where none was begun."""

        def job(connection: sqlite3.Connection) -> Recorded | None:
            row = connection.execute(_OF_STEP, (run_id, uid)).fetchone()
            return None if row is None else _recorded(row)

        return await self._database.read(job)

    async def settle(
        self,
        call: EffectCall,
        status: EffectStatus,
        at: datetime,
        result: JsonValue = None,
        error: str = "",
        code: str = "",
    ) -> None:
        """Write down how an effect ended; `code` tells one that was refused from one nobody answered."""
        row = (status, canonical_json(result), error, code, at.isoformat(), call.key)
        change = "UPDATE effects SET status=?, result=?, error=?, code=?, ended_at=? WHERE key=?"

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(change, row)
            append_row(connection, "effect", EFFECTS, call.key, at)

        await self._database.run(status, of_run(call.lease, job), synced=True)
        level = logging.WARNING if status == "in_doubt" else logging.INFO
        names = (call.lease.run_id, call.capability, status, call.key[:12])
        _LOG.log(level, "run %s: effect of %s recorded as %s under %s", *names, extra=ids_of(call.lease))

    def settle_step(self, lease: Lease, result: StepResult, at: datetime) -> None:
        """Write down how a step ended; whatever its dependents do is not on record before it.

        It rides: a call without an effect is made again where it is lost, and an effect is on record.
        """
        row = (lease.run_id, lease.tenant, result.uid, result.step_id, result.status)
        content = stored_json(result)

        def job(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO steps (run_id, tenant, uid, step_id, status, result, ended_at)"
                " VALUES (?,?,?,?,?,?,?) ON CONFLICT DO NOTHING",
                (*row, content, at.isoformat()),
            )

        ride(self._database, "step", lease, job)

    async def settled_steps(self, run_id: str) -> list[StepResult]:
        """List the steps of a run that have ended."""
        query = "SELECT result FROM steps WHERE run_id = ? ORDER BY rowid"
        rows = await self._database.read(lambda c: c.execute(query, (run_id,)).fetchall())
        return [StepResult.model_validate_json(row[0]) for row in rows]

    async def called_in(self, run_id: str, prefix: str) -> set[str]:
        """Name the capabilities whose calls have ended in a run, in steps whose id begins with `prefix`."""
        where = "s.run_id = :run AND substr(s.step_id, 1, length(:prefix)) = :prefix"
        return await self._called(where, {"run": run_id, "prefix": prefix})

    async def called_before(self, run_id: str, thread_id: str) -> set[str]:
        """Name the capabilities called in other runs of a thread, and of those that its forks came from."""
        where = "s.run_id <> :run AND r.thread_id IN (SELECT thread_id FROM family)"
        return await self._called(where, {"run": run_id, "thread": thread_id}, FAMILY)

    async def _called(self, where: str, values: dict[str, str], tables: str = "") -> set[str]:
        """Name what was called; a chain is not, for its parts are on record beside it."""
        opening = f"WITH RECURSIVE {tables}" if tables else ""
        query = (
            f"{opening} SELECT DISTINCT json_extract(s.result, '$.capability')"
            " FROM steps s JOIN runs r USING (run_id)"
            f" WHERE s.status <> 'skipped' AND {where}"
            " AND json_extract(s.result, '$.capability') NOT IN"
            " (SELECT name FROM chains c WHERE c.run_id = s.run_id)"
        )

        def job(connection: sqlite3.Connection) -> set[str]:
            return {str(row[0]) for row in connection.execute(query, values)}

        return await self._database.read(job, behind=("step",))


def _intend(
    connection: sqlite3.Connection, call: EffectCall, at: datetime, limits: RunBudgetSettings
) -> Recorded:
    doubts = doubt_question(call.lease.thread_id, call.capability, call.args_hash)
    own, had = (EFFECTS.query, (call.key,)), (COUNT_EFFECTS, (call.lease.run_id,))
    ask_ahead(connection, own, doubts, done_question(call.place), had)
    row = EFFECTS.row(connection, call.key)
    if row is None:
        if refused := doubt_refusal(connection, call.lease.thread_id, call.capability, call.args_hash):
            raise refused
        if not call.again and past_of(connection, call.place) != NEW:
            cause = f"{call.capability} was done with these arguments before in this run"
            raise CapabilityForbidden(cause, "a person has to say that it is done again")
        if call.undo_key is None:  # a person approved the plan of an undoing, effect by effect
            refuse_more_effects(connection, call.lease.run_id, call.unasked, at, limits)
        connection.execute(
            "INSERT INTO effects (key, tenant, thread_id, run_id, step_uid, attempt, ordinal, capability,"
            " effect, args_hash, args, status, intended_at, unasked, owner, first_key)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,'intent',?,?,?,?)",
            (call.key, call.lease.tenant, call.lease.thread_id, call.lease.run_id, call.step_uid)
            + (call.attempt, call.ordinal, call.capability, call.effect, call.args_hash)
            + (canonical_json(call.args), at.isoformat(), call.unasked, call.lease.owner, call.first_key),
        )
        append_row(connection, "effect", EFFECTS, call.key, at)
        return Recorded("intent", fresh=True)
    if row["args_hash"] != call.args_hash:
        raise LedgerConflict(
            f"{call.capability} was recorded under {call.key[:12]} with other arguments",
            f"look at both: planwright show {call.lease.run_id}",
        )
    if row["args"] == UNKNOWN_ARGS:
        record_arguments(connection, call.key, canonical_json(call.args), at)
    if row["status"] == "failed" and row["code"] == CallAsks.code:
        again = "UPDATE effects SET status='intent', error='', code='', ended_at=NULL, owner=? WHERE key=?"
        connection.execute(again, (call.lease.owner, call.key))
        append_row(connection, "effect", EFFECTS, call.key, at)
        return Recorded("intent", fresh=True)
    sender = living_sender(connection, row["owner"], call.lease.owner)
    if not sender:
        connection.execute("UPDATE effects SET owner=? WHERE key=?", (call.lease.owner, call.key))
    return _recorded(row, sender)


def _recorded(row: sqlite3.Row, sender: str = "") -> Recorded:
    result = json.loads(row["result"]) if row["result"] else None
    error, code = row["error"] or "", row["code"] or ""
    return Recorded(row["status"], fresh=False, result=result, error=error, sender=sender, code=code)
