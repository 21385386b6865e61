"""Gates: every pending human decision is a row, and a row takes exactly one answer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from planwright.checkpoints.acceptance import acceptable, decided_effects
from planwright.checkpoints.approvers import Approval, quorum_of
from planwright.checkpoints.database import Database
from planwright.checkpoints.doubts import settle_doubts
from planwright.checkpoints.fencing import held
from planwright.checkpoints.remember import Remember
from planwright.graph.canonical import canonical_json, sha256
from planwright.graph.clock import Timer
from planwright.graph.doubt import Doubt, EffectAnswer
from planwright.graph.errors import GateError
from planwright.graph.lease import Lease
from planwright.graph.plan import Plan

GateKind = Literal["plan", "step", "info", "escalation"]
GateStatus = Literal["open", "approved", "rejected", "expired", "cancelled", "edited", "responded"]
Answer = Literal["approve", "edit", "reject", "respond"]
STATUS_AFTER: dict[Answer, GateStatus] = {
    "approve": "approved",
    "edit": "edited",
    "reject": "rejected",
    "respond": "responded",
}
# By the number of effects on the card; one that is older than their list can only be closed.
_OVER_DOUBTS: dict[int, tuple[Answer, ...]] = {0: ("reject",), 1: ("approve", "reject", "respond")}


class Gate(BaseModel):
    """One decision a person is asked for."""

    model_config = ConfigDict(frozen=True)
    gate_id: str
    """Id made of run, kind and subject, so that it is the same after a crash."""
    thread_id: str
    run_id: str
    tenant: str
    kind: GateKind
    """What is asked: a plan, a step, a question (`info`), or what becomes of a run."""
    step_uid: str | None
    """Uid of the step that it asks about, or of what asks for several; None for other kinds."""
    shown_hash: str
    """Hash that an answer may name: of the plan, or of the card of a call."""
    shown: dict[str, JsonValue]
    """The card: all that a person is shown."""
    card_hash: str | None = None
    """SHA-256 of the card, written when the gate opens; None in rows of older versions."""
    requested_at: datetime
    expires_at: datetime
    """When it closes by itself, in UTC."""
    status: GateStatus
    """How it stands: open, or what ended it."""
    decided_at: datetime | None = None
    decided_by: str | None = None
    """Who decided; None while it is open."""
    channel: str | None = None
    """Door that the run came through; once it is decided, that of the decision."""
    reason: str | None = None
    """Words of the decision, or the answer to a question; None while it is open."""
    edited: Plan | None = None
    """Plan that an edit put in the place of the shown one; None for other answers."""
    remembered: Remember | None = None
    approvals: tuple[Approval, ...] = ()
    """The approvals so far, where several people have to approve."""
    effects: tuple[EffectAnswer, ...] = ()

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """The effects in doubt that its card shows."""
        listed = self.shown.get("effects")
        return tuple(Doubt.model_validate(entry) for entry in listed) if isinstance(listed, list) else ()

    @property
    def calls(self) -> list[dict[str, JsonValue]]:
        """The cards of the calls that it asks about: its own, or those of a reply."""
        listed = self.shown.get("calls")
        return (
            [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else [self.shown]
        )

    @property
    def quorum(self) -> int:
        """How many people have to approve."""
        return quorum_of(self.shown)

    @property
    def may_be_remembered(self) -> bool:
        """Whether its approval may hold for more than this once: for one call, never a destructive one.

        Where several people have to approve, or a plan names the gate, each call needs them.
        """
        again = self.shown.get("mode") not in (None, "destructive") and "gate" not in self.shown
        return self.kind == "step" and again and self.quorum == 1

    @property
    def allowed(self) -> tuple[Answer, ...]:
        """The answers this gate takes. Feedback needs a re-plan that is left, an edit no fixed plan."""
        if self.kind == "step" or self.shown.get("fixed"):
            return ("approve", "reject")
        if self.kind == "info":
            return ("respond", "reject")
        if self.shown.get("in_doubt"):
            return _OVER_DOUBTS.get(len(self.doubts), ("respond", "reject"))
        left = self.shown.get("replans_left")
        again = isinstance(left, int) and left > 0
        if self.kind == "escalation":
            approve: tuple[Answer, ...] = () if self.shown.get("approve") == "" else ("approve",)
            return (*approve, "reject", "respond") if again else (*approve, "reject")
        return ("approve", "edit", "reject", "respond") if again else ("approve", "edit", "reject")


class Decision(BaseModel):
    """An answer to one gate; `plan` is the next revision, when the answer is an edit."""

    model_config = ConfigDict(frozen=True)
    answer: Answer
    decided_by: str
    channel: str
    reason: str = ""
    shown_hash: str | None = None
    plan: Plan | None = None
    remember: Remember | None = None
    effects: tuple[EffectAnswer, ...] = ()


def gate_id(run_id: str, kind: GateKind, subject: str) -> str:
    """Name the gate of a run and a plan (its hash and round) or step: the same after a crash."""
    return "gate_" + sha256([run_id, kind, subject])[:16]


class Gates:
    """The table of gates."""

    def __init__(self, database: Database, timer: Timer) -> None:
        self._database = database
        self._timer = timer

    async def open(self, gate: Gate, lease: Lease) -> Gate:
        """Write a gate down, or return the row that is already there."""

        def job(connection: sqlite3.Connection) -> Gate:
            connection.execute(
                "INSERT OR IGNORE INTO gates (gate_id, thread_id, run_id, tenant, kind, step_uid,"
                " shown_hash, shown, card_hash, requested_at, expires_at, status, opened_s, boot, channel)"
                " VALUES (?,?,?,?,?,?,?,?,?,?,?,'open',?,?,?)",
                (gate.gate_id, gate.thread_id, gate.run_id, gate.tenant, gate.kind, gate.step_uid)
                + (gate.shown_hash, canonical_json(gate.shown), sha256(gate.shown))
                + (gate.requested_at.isoformat(), gate.expires_at.isoformat())
                + (self._timer.seconds(), self._timer.boot, gate.channel),
            )
            return _read(connection, gate.gate_id)

        return await self._database.run("gate", held(lease, job))

    async def read(self, gate_id: str) -> Gate:
        """Read a gate. It stays open, however late it is, until somebody decides or its run goes on."""
        return await self._database.run("read", lambda c: _read(c, gate_id))

    async def expire(self, lease: Lease, at: datetime) -> None:
        """Close the gates of a run whose time is up, for whoever goes on with it."""
        due = "SELECT * FROM gates WHERE run_id = ? AND status = 'open'"

        def job(connection: sqlite3.Connection) -> None:
            for row in connection.execute(due, (lease.run_id,)).fetchall():
                self._close_late(connection, row, at)

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
        or was shown with other content than its answer names.
        """

        def late(connection: sqlite3.Connection) -> None:
            for gate_id in decisions:
                self._close_late(connection, _row(connection, gate_id), at)

        def job(connection: sqlite3.Connection) -> None:
            for gate_id, decision in decisions.items():
                _decide(connection, gate_id, decision, at)

        await self._database.run("expiry", late)
        await self._database.run("decision", held(lease, job))

    async def of_thread(self, thread_id: str) -> list[Gate]:
        """List the open gates of a thread, oldest first."""

        def job(connection: sqlite3.Connection) -> list[Gate]:
            query = "SELECT * FROM gates WHERE thread_id = ? AND status = 'open' ORDER BY rowid"
            return [_gate(row) for row in connection.execute(query, (thread_id,))]

        return await self._database.run("read", job)

    async def of_run(self, run_id: str) -> list[Gate]:
        """List the gates of a run that are closed, oldest first."""

        def job(connection: sqlite3.Connection) -> list[Gate]:
            query = "SELECT * FROM gates WHERE run_id = ? AND status <> 'open' ORDER BY rowid"
            return [_gate(row) for row in connection.execute(query, (run_id,))]

        return await self._database.run("read", job)

    def _close_late(self, connection: sqlite3.Connection, row: sqlite3.Row, at: datetime) -> None:
        if row["status"] == "open" and is_late(row, at, self._timer):
            connection.execute(
                "UPDATE gates SET status='expired', decided_at=? WHERE gate_id=?",
                (at.isoformat(), row["gate_id"]),
            )


def is_late(row: sqlite3.Row, at: datetime, timer: Timer) -> bool:
    """Say whether the time of a gate is up: by the time that went by, by the clock only after a new start."""
    requested, expires = (datetime.fromisoformat(row[name]) for name in ("requested_at", "expires_at"))
    if timer.boot and row["boot"] == timer.boot:
        return bool(timer.seconds() - row["opened_s"] >= (expires - requested).total_seconds())
    return at >= expires


def close_gates(connection: sqlite3.Connection, run_id: str, at: datetime, by: str) -> None:
    """Close what a run still asks for, in the transaction in which the run ends."""
    connection.execute(
        "UPDATE gates SET status='cancelled', decided_at=?, decided_by=? WHERE run_id=? AND status='open'",
        (at.isoformat(), by, run_id),
    )


def _decide(connection: sqlite3.Connection, gate_id: str, decision: Decision, at: datetime) -> None:
    gate = _read(connection, gate_id)
    acceptable(gate, decision)
    if (decision.answer == "edit") != (decision.plan is not None):
        raise GateError(f"gate {gate_id}: an edit and only an edit brings a plan", "send the edited plan")
    if decision.answer == "approve":
        card = gate.card_hash or ""
        given = Approval(by=decision.decided_by, channel=decision.channel, at=at, card=card)
        approvals = [entry.model_dump(mode="json") for entry in (*gate.approvals, given)]
        connection.execute(
            "UPDATE gates SET approvals=? WHERE gate_id=?", (canonical_json(approvals), gate_id)
        )
        if len(approvals) < gate.quorum:
            return
    effects = decided_effects(gate, decision)
    settle_doubts(connection, gate.run_id, effects, decision.decided_by, at)
    connection.execute(
        "UPDATE gates SET status=?, decided_at=?, decided_by=?, channel=?, reason=?, edited=?,"
        " remembered=?, effects=? WHERE gate_id=?",
        (
            STATUS_AFTER[decision.answer],
            at.isoformat(),
            decision.decided_by,
            decision.channel,
            decision.reason,
            decision.plan.model_dump_json() if decision.plan else None,
            decision.remember.model_dump_json(exclude_unset=True) if decision.remember else None,
            canonical_json([effect.model_dump(mode="json") for effect in effects]) if effects else None,
            gate_id,
        ),
    )


def _read(connection: sqlite3.Connection, gate_id: str) -> Gate:
    return _gate(_row(connection, gate_id))


def _row(connection: sqlite3.Connection, gate_id: str) -> sqlite3.Row:
    query = "SELECT * FROM gates WHERE gate_id = ?"
    row: sqlite3.Row | None = connection.execute(query, (gate_id,)).fetchone()
    if row is None:
        raise GateError(f"there is no gate {gate_id}", "list what waits: planwright ls --waiting")
    return row


def _gate(row: sqlite3.Row) -> Gate:
    names = ("shown", "edited", "remembered", "approvals", "effects")
    read = {name: json.loads(row[name]) for name in names if row[name]}
    if row["status"] == "approved" and row["approvals"] is None:  # before approvals were counted
        read["approvals"] = [{"by": row["decided_by"], "channel": row["channel"], "at": row["decided_at"]}]
    return Gate.model_validate({**dict(row), "approvals": (), "effects": (), **read})
