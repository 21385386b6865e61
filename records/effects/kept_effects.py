"""Effects that a run has done under an earlier plan and would do again: their record counts instead.

An effect is recognised by what it does, its capability and its arguments, and not by its place in a plan.
Each record counts for one call: of two equal calls of a new plan against one that is done, one is left to do.
Two equal calls of one plan are two intents, and so are two of one agent.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from planwright.domain.chain import CREATE_CHAIN
from planwright.records.effects.alternatives import step_of

_DONE = """SELECT key, step_uid, result, capability, args FROM effects
    WHERE thread_id = ? AND capability = ? AND args_hash = ? AND run_id = ? AND status = 'done'
    ORDER BY rowid"""
_PARTS = """SELECT p.rowid, p.kind, json_extract(p.plan, '$.plan_id'), json_extract(c.value, '$.uid'),
    json_extract(c.value, '$.step.id'), json_extract(c.value, '$.kept')
    FROM plans p, json_each(p.checked) c WHERE p.run_id = ? ORDER BY p.rowid"""
_ALL_DONE = """SELECT step_uid, capability, args, result FROM effects WHERE run_id = ? AND status = 'done'
    ORDER BY rowid"""
_CHAIN = "chain_"


@dataclass(frozen=True)
class Call:
    """One call by what it does and where it stands.

    `uid` names it, and `within` the step, chain or agent that makes it, where that is not on record yet.
    `own_key` is that of its own effect, `recorded_key` that of the effect verification chose for it.
    """

    thread_id: str
    """Id of the thread of the run."""
    run_id: str
    """Id of the run that makes the call."""
    uid: str
    """Uid of the call."""
    capability: str
    """Name of the capability that is called."""
    args_hash: str
    """SHA-256 of its arguments."""
    own_key: str
    """Idempotency key of its own effect."""
    within: str = ""
    """Uid of the step, chain or agent that makes it; "" where that is on record."""
    recorded_key: str = ""
    """Key of the effect that verification chose for it; "" for none."""


@dataclass(frozen=True)
class DoneEffect:
    """An effect that a run has had, by what was called with which arguments, and what that returned."""

    capability: str
    """Name of the capability that was called."""
    args: dict[str, JsonValue]
    """Arguments of the call."""
    result: JsonValue
    """What it returned; None where it returned nothing."""


@dataclass(frozen=True)
class Past:
    """What a run has done of a call under an earlier plan.

    `key`, `uid` and `result` are those of the effect whose record counts for the call; an empty key where
    there is none. `again`: the like was done, and every record of it counts for another call.
    """

    key: str = ""
    """Key of the effect whose record counts; "" where there is none."""
    uid: str = ""
    """Uid of the step or call that had it."""
    result: JsonValue = None
    """What it returned; None where it returned nothing."""
    again: bool = False
    """Whether the like was done, and every record of it counts for another call."""
    done: tuple[DoneEffect, ...] = ()
    """What was done of it, where it would be one more; else empty."""


NEW = Past()


@dataclass
class Lineage:
    """Which step, agent and chain each call of a run belongs to, and which steps its newest plan has."""

    parents: dict[str, str] = field(default_factory=dict)
    """Uid of the step, agent or chain above each call, by uid."""
    current: set[str] = field(default_factory=set)
    """Uids of the steps of the newest plan."""
    tries: dict[str, str] = field(default_factory=dict)
    """Uid of the step that an alternative was tried for, by the uid of the alternative."""
    promised: dict[str, str] = field(default_factory=dict)
    """What verification chose to count for a step, by uid: a key, or its own uid."""

    def path(self, uid: str) -> list[str]:
        """Go from a call up to the step of the plan that it belongs to."""
        path: list[str] = []
        while uid and uid not in path:
            path.append(uid)
            uid = self.parents.get(uid, "")
        return path

    def planned(self, uid: str) -> bool:
        """Say whether a call belongs to a step of the newest plan."""
        return not self.current.isdisjoint(self.path(uid))

    def settled(self, uid: str) -> bool:
        """Say whether a call belongs to a step of the newest plan that had ended before that was verified."""
        return any(above in self.current and self.promised.get(above) == above for above in self.path(uid))

    def earlier(self, uid: str, mine: str) -> bool:
        """Say whether a call was made under an earlier plan than `mine`, or in the try that mine follows."""
        path = self.path(uid)
        if self.current.isdisjoint(path):
            return True
        tries = [above for above in self.path(mine) if above in self.tries]
        return any(self.tries[above] in path and above not in path for above in tries)


def done_question(call: Call) -> tuple[str, tuple[str, ...]]:
    """Ask for what was done on the thread of a call that is the same."""
    return _DONE, (call.thread_id, call.capability, call.args_hash, call.run_id)


def past_of(connection: sqlite3.Connection, call: Call) -> Past:
    """Find what a run has done of a call already. The first record that is left counts for it."""
    done = () if call.capability == CREATE_CHAIN else connection.execute(*done_question(call))
    rows = [row for row in done if row[0] != call.own_key]
    if not rows:
        return NEW
    lineage = lineage_of(connection, call.run_id)
    lineage.parents.setdefault(call.uid, call.within)
    if not lineage.planned(call.uid):
        return NEW
    claims = _claims(connection, call.run_id, lineage)
    before = [row for row in rows if lineage.earlier(row[1], call.uid) or lineage.settled(row[1])]
    if not before:
        return NEW
    if (mine := claims.pop(call.uid, call.recorded_key)) and (
        row := next((r for r in before if r[0] == mine), None)
    ):
        return Past(row[0], row[1], json.loads(row[2]))
    taken = {key for uid, key in claims.items() if not lineage.earlier(uid, call.uid)}
    taken |= {key for uid, key in lineage.promised.items() if uid in lineage.current and uid != call.uid}
    taken |= {row[0] for row in before if not lineage.earlier(row[1], call.uid)}
    row = next((row for row in before if row[0] not in taken), None)
    if row is not None:
        return Past(row[0], row[1], json.loads(row[2]))
    return Past(again=True, done=tuple(map(_done, before)))


def claim(connection: sqlite3.Connection, call: Call, tenant: str) -> Past:
    """Find what a run has done of a call already, and write down that its record counts for this one."""
    past = past_of(connection, call)
    if past.key:
        connection.execute(
            "INSERT INTO kept_effects (run_id, tenant, uid, within, key) VALUES (?,?,?,?,?)"
            " ON CONFLICT DO NOTHING",
            (call.run_id, tenant, call.uid, call.within, past.key),
        )
    return past


def left_of(
    connection: sqlite3.Connection, run_id: str, uids: Collection[str]
) -> dict[tuple[str, str], list[str]]:
    """List what was done before a new plan, whose steps are `uids`.

    By capability and hash of the arguments: the keys of the effects whose record counts for no step yet. A
    list is empty where all of them count already, as those do of a step that the new plan still has.
    """
    query = "SELECT key, step_uid, capability, args_hash FROM effects WHERE run_id = ? AND status = 'done'"
    query += f" AND capability != '{CREATE_CHAIN}'"  # a chain is gone with its run
    rows = connection.execute(f"{query} ORDER BY rowid", (run_id,)).fetchall()
    if not rows:
        return {}
    lineage = lineage_of(connection, run_id)
    lineage.current = set(uids)
    claims = _claims(connection, run_id, lineage)
    taken = {key for uid, key in claims.items() if lineage.planned(uid)}
    left: dict[tuple[str, str], list[str]] = {}
    for key, uid, capability, args_hash in rows:
        keys = left.setdefault((capability, args_hash), [])
        keys += [] if key in taken or lineage.planned(uid) else [key]
    return left


def done_beside(connection: sqlite3.Connection, run_id: str, uids: Collection[str]) -> list[DoneEffect]:
    """List what a run has done that belongs to none of the steps `uids`, in the order it began."""
    rows = [row for row in connection.execute(_ALL_DONE, (run_id,)) if row[1] != CREATE_CHAIN]
    if not rows:
        return []
    lineage = lineage_of(connection, run_id)
    _claims(connection, run_id, lineage)
    lineage.current = set(uids)
    return [_done(row) for row in rows if not lineage.planned(row[0])]


def done_before_call(connection: sqlite3.Connection, call: Call) -> list[DoneEffect]:
    """List what a run has done by the capability of a call, under an earlier plan or in an earlier try."""
    rows = [row for row in connection.execute(_ALL_DONE, (call.run_id,)) if row[1] == call.capability]
    if not rows:
        return []
    lineage = lineage_of(connection, call.run_id)
    _claims(connection, call.run_id, lineage)
    lineage.parents.setdefault(call.uid, call.within)
    if not lineage.planned(call.uid):
        return []
    return [_done(row) for row in rows if lineage.earlier(row[0], call.uid) or lineage.settled(row[0])]


def lineage_of(connection: sqlite3.Connection, run_id: str) -> Lineage:
    """Read the plans of a run: the newest one has the steps that count now."""
    lineage, newest = Lineage(), -1
    for row, kind, plan_id, uid, step_id, recorded_key in connection.execute(_PARTS, (run_id,)):
        if kind == "plan":
            if row != newest:
                newest, lineage.current = row, set()
            lineage.current.add(uid)
            lineage.promised.pop(uid, None)
            lineage.promised |= {uid: recorded_key} if recorded_key else {}
            continue
        lineage.parents[uid] = _parent(kind, plan_id, step_id)
        if kind == "alternative":
            lineage.tries[uid] = step_of(plan_id)
    return lineage


def within_of(step_id: str) -> str:
    """Name the agent that makes a call, by the id of the call: `<agent>.<turn>.<position>`."""
    return step_id.split(".")[0]


def _done(row: sqlite3.Row) -> DoneEffect:
    return DoneEffect(row["capability"], json.loads(row["args"]), json.loads(row["result"] or "null"))


def _parent(kind: str, plan_id: str, step_id: str) -> str:
    if kind == "chain":
        return plan_id.removeprefix(_CHAIN)
    return step_of(plan_id) if kind == "alternative" else within_of(step_id)


def _claims(connection: sqlite3.Connection, run_id: str, lineage: Lineage) -> dict[str, str]:
    claims: dict[str, str] = {}
    for uid, within, key in _rows(connection, run_id):
        lineage.parents.setdefault(uid, within)
        claims[uid] = key
    return claims


def _rows(connection: sqlite3.Connection, run_id: str) -> Iterator[tuple[str, str, str]]:
    yield from connection.execute("SELECT uid, within, key FROM kept_effects WHERE run_id = ?", (run_id,))
