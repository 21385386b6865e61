"""Gates: every pending human decision is a row, and a row takes exactly one answer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime

from planwright.domain.errors import GateError
from planwright.domain.hashing import canonical_json, sha256
from planwright.domain.lease import Lease
from planwright.records.consent.acceptance import acceptable, decided_effects
from planwright.records.consent.approvers import Approval
from planwright.records.consent.ended_senders import look_again
from planwright.records.consent.gate import STATUS_AFTER, Decision, Gate
from planwright.records.consent.rule_uses import count_uses
from planwright.records.effects.doubts import settle_doubts
from planwright.records.extensions import add_extension
from planwright.store.audit_chain import append_row
from planwright.store.database import Database
from planwright.store.fencing import held, of_run
from planwright.store.sealed_rows import GATES
from planwright.store.store_time import (
    TERM_OF_SESSION,
    StoreTime,
    closes_of,
    is_late,
    may_be_late,
)
from planwright.store.time_marks import TimeMark

OPEN_GATES = "SELECT gate_id FROM gates WHERE run_id = ? AND status = 'open'"
"""Reads what a run still asks for."""


class Gates:
    """The table of gates."""

    def __init__(self, database: Database, time: StoreTime) -> None:
        self._database = database
        self._time = time

    async def open(self, gate: Gate, lease: Lease) -> Gate:
        """Write a gate down, or return the row that is already there; it closes no later than its session.

        Where the end of its run was asked for meanwhile, nobody is asked: it is closed from the beginning.
        """
        end = "SELECT cancelled_by FROM runs WHERE run_id = ? AND cancelled_by IS NOT NULL"
        looked = await self._time.look()

        def job(connection: sqlite3.Connection) -> Gate:
            mark = self._time.since(looked)  # nobody could answer while it waited to be written
            closes_s = mark.counted_s + (gate.expires_at - gate.requested_at).total_seconds()
            session = connection.execute(TERM_OF_SESSION, (gate.run_id,)).fetchone()
            first_s = min(closes_s, closes_of(session)) if session is not None else closes_s
            connection.execute(
                "INSERT INTO gates (gate_id, thread_id, run_id, tenant, kind, step_uid,"
                " shown_hash, shown, card_hash, requested_at, expires_at, opened_s, closes_s, status,"
                " channel) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,'open',?) ON CONFLICT DO NOTHING",
                (gate.gate_id, gate.thread_id, gate.run_id, gate.tenant, gate.kind, gate.step_uid)
                + (gate.shown_hash, canonical_json(gate.card), sha256(gate.card))
                + (gate.requested_at.isoformat(), mark.moment(first_s).isoformat(), mark.counted_s, first_s)
                + (gate.channel,),
            )
            if (row := connection.execute(end, (gate.run_id,)).fetchone()) is not None:
                close_gates(connection, gate.run_id, gate.requested_at, row[0])
            return _read(connection, gate.gate_id)

        return await self._database.run("gate", of_run(lease, job))

    async def read(self, gate_id: str) -> Gate:
        """Read a gate. It stays open, however late it is, until somebody decides or its run goes on."""
        return await self._database.read(lambda c: _read(c, gate_id), behind=("end",))

    async def expire(self, lease: Lease, at: datetime) -> None:
        """Close the gates of a run whose time is up, for whoever goes on with it; none is no write."""
        due, mark = "SELECT * FROM gates WHERE run_id = ? AND status = 'open'", await self._time.look()

        def late(connection: sqlite3.Connection) -> list[sqlite3.Row]:
            rows = connection.execute(due, (lease.run_id,)).fetchall()
            return [row for row in rows if is_late(row, mark)]

        def job(connection: sqlite3.Connection) -> None:
            for row in late(connection):
                _close_late(connection, row, mark, at)

        if await self._database.read(late, behind=("end",)):
            await self._database.run("expiry", held(lease, job))

    async def decide(
        self, gate_id: str, decision: Decision, at: datetime, lease: Lease | None = None
    ) -> Gate:
        """Accept the one answer a gate takes, and return its row; it stays open below its quorum."""
        await self.decide_all({gate_id: decision}, at, lease)
        return await self.read(gate_id)

    async def decide_all(
        self, decisions: Mapping[str, Decision], at: datetime, lease: Lease | None = None
    ) -> None:
        """Accept the one answer each gate takes, all of them or none, in one transaction.

        What decides by itself in a run, a rule, does so under the lease of that run; a person has none.

        Raises GateError when a gate is unknown, answered, expired, does not take such an answer,
        or was shown with other content than its answer names, and while nobody knows whether it is expired.
        """
        mark = await self._time.look()

        def job(connection: sqlite3.Connection) -> GateError | None:
            rows = [_row(connection, gate_id) for gate_id in decisions]
            late = [row for row in rows if _close_late(connection, row, mark, at)]
            if late and (refusal := _refusal(connection, decisions)):
                return refusal  # not raised: what is late stays closed
            _refuse_maybe_late(rows, mark)
            gates = {gate_id: _read(connection, gate_id) for gate_id in decisions}
            for gate_id, decision in decisions.items():
                acceptable(gates[gate_id], decision)
                if refusal := look_again(connection, gates[gate_id], decision, at):
                    return refusal  # not raised: its card stays as it is now
            for gate_id, decision in decisions.items():
                _decide(connection, gates[gate_id], decision, at)
            return None

        refusal = await self._database.run("decision", held(lease, job), synced=True)
        if refusal is not None:
            raise refusal

    async def of_thread(self, thread_id: str) -> list[Gate]:
        """List the open gates of a thread, oldest first."""

        def job(connection: sqlite3.Connection) -> list[Gate]:
            query = "SELECT * FROM gates WHERE thread_id = ? AND status = 'open' ORDER BY rowid"
            return [_gate(row) for row in connection.execute(query, (thread_id,))]

        return await self._database.read(job, behind=("end",))

    async def waiting(self) -> list[Gate]:
        """List the open gates of all threads, oldest first; one whose time is up counts as expired."""
        query, mark = "SELECT * FROM gates WHERE status = 'open' ORDER BY rowid", await self._time.look()

        def job(connection: sqlite3.Connection) -> list[Gate]:
            late = {"status": "expired"}
            return [
                _gate(row).model_copy(update=late if is_late(row, mark) else {})
                for row in connection.execute(query)
            ]

        return await self._database.read(job)

    async def of_run(self, run_id: str) -> list[Gate]:
        """List the gates of a run that are closed, oldest first."""

        def job(connection: sqlite3.Connection) -> list[Gate]:
            query = "SELECT * FROM gates WHERE run_id = ? AND status <> 'open' ORDER BY rowid"
            return [_gate(row) for row in connection.execute(query, (run_id,))]

        return await self._database.read(job, behind=("end",))


def _close_late(connection: sqlite3.Connection, row: sqlite3.Row, mark: TimeMark, at: datetime) -> bool:
    """Close a gate whose time is up, and say whether it was."""
    late = row["status"] == "open" and is_late(row, mark)
    if late:
        connection.execute(
            "UPDATE gates SET status='expired', decided_at=? WHERE gate_id=?",
            (at.isoformat(), row["gate_id"]),
        )
        append_row(connection, "gate", GATES, row["gate_id"], at)
    return late


def _refuse_maybe_late(rows: Iterable[sqlite3.Row], mark: TimeMark) -> None:
    """Raise GateError for an open gate that is late if the machine was off for as long as its clock says."""
    for row in rows:
        if row["status"] == "open" and may_be_late(row, mark):
            cause = f"gate {row['gate_id']} has expired if this machine was off for as long as its clock says"
            known = f"{mark.moment(mark.believed_s):%H:%M:%S} UTC"
            raise GateError(cause, f"nothing was decided; answer it at {known}, when the clock is believed")


def close_gates(connection: sqlite3.Connection, run_id: str, at: datetime, by: str) -> None:
    """Close what a run still asks for, in the transaction in which the run ends."""
    for (gate_id,) in connection.execute(OPEN_GATES, (run_id,)).fetchall():
        connection.execute(
            "UPDATE gates SET status='cancelled', decided_at=?, decided_by=? WHERE gate_id=?",
            (at.isoformat(), by, gate_id),
        )
        append_row(connection, "gate", GATES, gate_id, at)


def _refusal(connection: sqlite3.Connection, decisions: Mapping[str, Decision]) -> GateError | None:
    """Say why decisions are refused of which one came too late."""
    for gate_id, decision in decisions.items():
        try:
            acceptable(_read(connection, gate_id), decision)
        except GateError as error:
            return error
    return None


def _decide(connection: sqlite3.Connection, gate: Gate, decision: Decision, at: datetime) -> None:
    gate_id = gate.gate_id
    count_uses(connection, decision.by_rules)
    if (decision.answer == "edit") != (decision.plan is not None):
        raise GateError(f"gate {gate_id}: an edit and only an edit brings a plan", "send the edited plan")
    if decision.answer == "approve":
        card = gate.card_hash or ""
        approval = Approval(by=decision.decided_by, channel=decision.channel, at=at, card=card)
        approvals = [entry.model_dump(mode="json") for entry in (*gate.approvals, approval)]
        connection.execute(
            "UPDATE gates SET approvals=? WHERE gate_id=?", (canonical_json(approvals), gate_id)
        )
        if len(approvals) < gate.quorum:
            append_row(connection, "gate", GATES, gate_id, at)
            return
        if gate.more:
            amounts = {unit: decision.more or amount for unit, amount in gate.more.items()}
            add_extension(connection, gate.run_id, amounts, decision.decided_by, at)
    effects = decided_effects(gate, decision)
    settle_doubts(connection, gate.run_id, effects, decision.decided_by, at)
    connection.execute(
        "UPDATE gates SET status=?, decided_at=?, decided_by=?, channel=?, reason=?, edited=?,"
        " remembered=?, effects=?, by_call=? WHERE gate_id=?",
        (
            STATUS_AFTER[decision.answer],
            at.isoformat(),
            decision.decided_by,
            decision.channel,
            decision.reason,
            decision.plan.model_dump_json() if decision.plan else None,
            decision.remember.model_dump_json(exclude_unset=True) if decision.remember else None,
            canonical_json([effect.model_dump(mode="json") for effect in effects]) if effects else None,
            canonical_json([over.model_dump(mode="json") for over in decision.by_call])
            if decision.by_call
            else None,
            gate_id,
        ),
    )
    append_row(connection, "gate", GATES, gate_id, at)


def _read(connection: sqlite3.Connection, gate_id: str) -> Gate:
    return _gate(_row(connection, gate_id))


def _row(connection: sqlite3.Connection, gate_id: str) -> sqlite3.Row:
    query = "SELECT * FROM gates WHERE gate_id = ?"
    row: sqlite3.Row | None = connection.execute(query, (gate_id,)).fetchone()
    if row is None:
        raise GateError(f"there is no gate {gate_id}", "list what waits: planwright ls --waiting")
    return row


def _gate(row: sqlite3.Row) -> Gate:
    names = ("edited", "remembered", "approvals", "effects", "by_call")
    read = {name: json.loads(row[name]) for name in names if row[name]}
    if row["status"] == "approved" and row["approvals"] is None:  # before approvals were counted
        read["approvals"] = [{"by": row["decided_by"], "channel": row["channel"], "at": row["decided_at"]}]
    card = json.loads(row["shown"])
    return Gate.model_validate(
        {**dict(row), "card": card, "approvals": (), "effects": (), "by_call": (), **read}
    )
